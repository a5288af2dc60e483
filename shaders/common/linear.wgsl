// A dispatch of more workgroups than one dimension allows is laid out over two; these undo it.
fn linear_group(group: vec3<u32>) -> u32 {
    return group.y * problem.groups_x + group.x;
}

fn linear_invocation(group: vec3<u32>, lane: u32) -> u32 {
    return linear_group(group) * workgroup_x + lane;
}

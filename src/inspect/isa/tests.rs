use super::{Counts, HotLoop, hot_loop};

fn hot(text: &str) -> HotLoop {
    hot_loop(text).unwrap_or_else(|| panic!("no hot loop in\n{text}"))
}

/// What RADV of Mesa 22.3.6 told for navi21 of a matrix product with a 1x4 tile: a loop over four steps at a time, one over the rest.
#[test]
fn the_loop_of_a_real_kernel() {
    let text = include_str!("gemm_navi21.txt");
    let moved = Counts { global_loads: 8, scalar_loads: 4, ..Counts::default() };
    let counts = Counts { instructions: 63, fma: 16, waits: 10, other_vector: 13, other_scalar: 12, ..moved };
    assert_eq!(hot(text), HotLoop { label: "BB2".into(), counts });
    assert!((counts.fma_share() - 16.0 / 63.0).abs() < 1e-12);

    // Without the larger loop's jump back, the loop over the rest is left.
    let rest = text.replacen("s_branch BB2 ", "s_branch BB7 ", 1);
    let moved = Counts { global_loads: 2, scalar_loads: 3, ..Counts::default() };
    let counts = Counts { instructions: 22, fma: 4, waits: 4, other_vector: 4, other_scalar: 5, ..moved };
    assert_eq!(hot(&rest), HotLoop { label: "BB7".into(), counts });
}

#[test]
fn without_a_loop_that_multiplies_there_is_none() {
    assert_eq!(hot_loop(""), None);
    assert_eq!(hot_loop("BB0:\n v_fma_f32 v0, v1, v2, v0\n s_endpgm\n"), None, "no loop");
    assert_eq!(hot_loop("BB0:\n v_add_f32 v0, v1, v2\n s_cbranch_scc1 BB0\n s_endpgm\n"), None, "no multiply-add");
    assert_eq!(hot_loop("block_0:\n\t32x4 %1 = ffma %2, %3, %4\n"), None, "another notation");
    assert_eq!(hot_loop("BB0:\n v_fma_f32 v0, v1, v2, v0\n s_cbranch_scc1 BB9\n"), None, "a jump out of the text");
}

#[test]
fn a_block_can_be_its_own_loop() {
    let HotLoop { label, counts } = hot("BB0:\n s_nop 0\nBB1:\n v_fmac_f32 v0, v1, v2\n s_cbranch_scc1 BB1\nBB2:\n s_endpgm\n");
    assert_eq!((label.as_str(), counts.instructions, counts.fma), ("BB1", 2, 1));
}

/// Staging tiles in an inner loop does not hide the loop around it, whose multiply-adds are the work.
#[test]
fn the_loop_with_most_multiply_adds_of_its_own_is_taken() {
    let text = "
BB0:
	s_mov_b32 s0, 0
BB1:
	s_barrier
BB2:
	global_load_dword v9, v[4:5], off
	ds_write_b32 v8, v9
	v_fma_f32 v7, v7, v7, v7
	s_cbranch_scc1 BB2
BB3:
	s_barrier
	ds_read_b128 v[0:3], v8
	v_fmac_f32_e32 v10, v0, v1
	v_fmac_f32_e32 v11, v2, v3
	s_cbranch_scc0 BB1
BB4:
	v_fma_f32 v10, v10, v11, v11
	s_endpgm
";
    let HotLoop { label, counts } = hot(text);
    let moved = Counts { shared_loads: 1, shared_stores: 1, global_loads: 1, ..Counts::default() };
    let expected = Counts { instructions: 10, fma: 3, barriers: 2, other_scalar: 2, ..moved };
    assert_eq!((label.as_str(), counts), ("BB1", expected));

    // More work inside: the inner loop it is, and nothing around it counts.
    let inner = text.replacen("v_fma_f32 v7, v7, v7, v7", &"v_fma_f32 v7, v7, v7, v7\n".repeat(5), 1);
    let HotLoop { label, counts } = hot(&inner);
    assert_eq!((label.as_str(), counts.instructions, counts.fma, counts.barriers), ("BB2", 8, 5, 0));
}

/// Two ways to go on (`continue`) are one loop; a way out within its text is none of it.
#[test]
fn a_loop_is_what_leads_back_to_its_beginning() {
    let text = "
BB0:
	s_nop 0
BB1:
	v_fma_f32 v0, v1, v2, v0
	s_cbranch_scc0 BB3
BB2:
	v_mul_f32 v0, v0, v0
	s_branch BB1
BB3:
	s_cbranch_execz BB5
BB4:
	v_add_f32 v5, v5, v5
	v_add_f32 v5, v5, v5
	s_endpgm
BB5:
	v_fma_f32 v0, v1, v2, v0
	s_branch BB1
";
    let HotLoop { label, counts } = hot(text);
    assert_eq!((label.as_str(), counts.instructions, counts.fma), ("BB1", 7, 2));
}

/// A jump into the middle of what is entered elsewhere too makes no natural loop.
#[test]
fn a_jump_back_past_the_entrance_is_no_loop() {
    let text = "
BB0:
	s_cbranch_scc0 BB2
BB1:
	v_fma_f32 v0, v1, v2, v0
BB2:
	v_fma_f32 v0, v1, v2, v0
	s_cbranch_scc1 BB1
BB3:
	s_endpgm
";
    assert_eq!(hot_loop(text), None);
}

#[test]
fn dual_and_repeated_instructions_count_each() {
    let text = "
BB0:
	s_nop 0
BB1:
	v_dual_fmac_f32 v0, v1, v2 :: v_dual_mul_f32 v3, v4, v5
	v_dual_fmac_f32 v0, v1, v2 :: v_dual_fmac_f32 v3, v4, v5  ; ca000000 00000000
	s_nop 0                                                   ; bf800000
	(then repeated 3 times)
	s_cbranch_scc1 BB1
";
    let HotLoop { counts, .. } = hot(text);
    assert_eq!((counts.instructions, counts.fma), (2 + 2 + 1 + 3 + 1, 3));
}

#[test]
fn what_a_multiply_add_is() {
    let yes = [
        "v_fma_f32",
        "v_fmac_f32_e32",
        "v_fmaak_f32",
        "v_mac_f32_e32",
        "v_mad_f32",
        "v_madmk_f32",
        "v_pk_fma_f16",
        "v_pk_fma_f32",
        "v_fma_mix_f32",
        "v_fma_mixlo_f16",
        "v_dual_fmac_f32",
        "v_dot2_f32_f16",
        "v_dot4_i32_i8",
        "v_dot2c_f32_f16",
        "v_wmma_f32_16x16x16_f16",
        "v_mfma_f32_32x32x1_2b_f32",
    ];
    let no =
        ["v_mad_u32_u24", "v_mad_i32_i24", "v_mad_u64_u32", "v_mul_f32_e32", "v_add_f32", "v_div_fmas_f32", "s_mul_i32", "v_pk_mul_f16"];
    let counts = |mnemonic: &str| {
        let mut counts = Counts::default();
        counts.add(mnemonic);
        counts.fma
    };
    assert_eq!(yes.iter().filter(|mnemonic| counts(mnemonic) == 0).collect::<Vec<_>>(), [&""; 0]);
    assert_eq!(no.iter().filter(|mnemonic| counts(mnemonic) == 1).collect::<Vec<_>>(), [&""; 0]);
}

//! The report in a headless browser.

"""Formulas of the gamma and beta families."""

"""The calculator: error, data use and optimal design of sequential accept/reject tests."""

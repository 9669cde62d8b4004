fn sum() {}

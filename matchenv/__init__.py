"""Match-making under uncertain skill: belief mathematics and Gymnasium environments."""

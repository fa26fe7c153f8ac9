"""Losses that are minimised in turn: several optimiser steps on one batch."""

import torch


def keep_moving(optimizer: torch.optim.Optimizer) -> None:
    """Give parameters without a gradient one of 0, so that momentum and weight decay move them too.

    Only those that ever had a gradient: what PyTorch before 2.0 did, whose ``zero_grad`` left zeros behind.
    """
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.grad is None and parameter in optimizer.state:
                parameter.grad = torch.zeros_like(parameter)

"""Matrices of fixed rank that learn step by step, and the steps that learners of them share."""

from nearer.lowrank.course import LOOKS, Course
from nearer.lowrank.factors import CONDITION, FixedRank, FixedRankPSD
from nearer.lowrank.parts import Factor, Room
from nearer.lowrank.rows import Rows, StepRoom

__all__ = ["CONDITION", "LOOKS", "Course", "Factor", "FixedRank", "FixedRankPSD", "Room", "Rows", "StepRoom"]

"""Function transforms: gradients, Jacobians and Hessians as functions."""

from jittape.transforms.gradient_checks import check_gradient as check_gradient
from jittape.transforms.gradient_checks import compute_gradient as compute_gradient
from jittape.transforms.gradients import grad as grad
from jittape.transforms.gradients import jvp as jvp
from jittape.transforms.gradients import value_and_grad as value_and_grad
from jittape.transforms.gradients import vjp as vjp
from jittape.transforms.jacobians import batch_jacobian as batch_jacobian
from jittape.transforms.jacobians import hessian as hessian
from jittape.transforms.jacobians import hvp as hvp
from jittape.transforms.jacobians import jacobian as jacobian
from jittape.transforms.vmap import vmap as vmap
from jittape.transforms.wrappers import grad_pass_through as grad_pass_through
from jittape.transforms.wrappers import recompute_grad as recompute_grad

"""A Ray of one process, as far as dequant.ray uses it: tasks run when they are waited for."""

import itertools
import pickle
import sys
import types

import pytest


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(str(cause))
        self.cause = cause


class Reference:
    def __init__(self, call):
        self.call = call
        self.value = self.error = None


class Cluster:
    """nodes    what each has: {"CPU": 2, "memory": 1 << 33}
    init     arguments of ray.init()
    options  of each task that was begun
    said     what Ray prints for each task that ends, on the driver's stdout
    """

    def __init__(self):
        self.nodes = [{"CPU": 2.0, "memory": float(8 << 30)}]
        self.init = None
        self.options = []
        self.said = ""
        self.module = _module(self)

    def starts(self, **arguments):
        self.init = arguments

    def ends(self):
        self.init = None

    def listed(self):
        return [{"Alive": True, "Resources": node} for node in self.nodes]

    def fits(self, options):
        wanted = {"CPU": options["num_cpus"], "memory": options["memory"] or 0}
        return any(all(node.get(k, 0) >= v for k, v in wanted.items()) for node in self.nodes)

    def wait(self, references, num_returns=1, timeout=None):
        """Ends the first tasks that fit on a node, one at least."""
        ready = [r for r in references if r.call is None]
        for reference in references:
            if len(ready) >= num_returns or timeout == 0:
                break
            if reference.call is not None and reference.call():
                reference.call = None
                ready.append(reference)
                print(self.said, end="")
        return ready, [r for r in references if r not in ready]

    @staticmethod
    def get(reference, timeout=None):
        if isinstance(reference, Reference):
            if reference.error is not None:
                raise reference.error
            return reference.value
        return reference


class Function:
    def __init__(self, cluster, function, options=None):
        self.cluster, self.function, self.own = cluster, function, options

    def options(self, **options):
        return Function(self.cluster, self.function, options)

    def remote(self, *arguments):
        if isinstance(self.function, type):
            return Actor(self.function(*arguments))
        self.cluster.options.append(self.own)
        reference = Reference(lambda: self._run(reference, arguments))
        return reference

    def _run(self, reference, arguments):
        """False where no node is large enough. What goes to a worker and comes back is pickled."""
        if not self.cluster.fits(self.own):
            return False
        most = self.own["max_retries"]
        for attempt in itertools.count():
            try:
                value = self.function(pickle.loads(pickle.dumps(arguments[0])), *arguments[1:])
                reference.value = pickle.loads(pickle.dumps(value))
                return True
            except Exception as error:
                if not isinstance(error, tuple(self.own["retry_exceptions"])) or attempt == most:
                    reference.error = RayTaskError(pickle.loads(pickle.dumps(error)))
                    return True


class Actor:
    def __init__(self, object):
        self.object = object

    def __getattr__(self, name):
        return types.SimpleNamespace(remote=getattr(self.object, name))


def _module(cluster):
    ray = types.ModuleType("ray")
    ray.exceptions = types.ModuleType("ray.exceptions")
    for name, kind in {"RayError": RayError, "RayTaskError": RayTaskError,
                       "RayActorError": type("RayActorError", (RayError,), {}),
                       "GetTimeoutError": type("GetTimeoutError", (RayError,), {})}.items():
        setattr(ray.exceptions, name, kind)
    ray.init, ray.shutdown = cluster.starts, cluster.ends
    ray.is_initialized = lambda: cluster.init is not None
    ray.nodes, ray.wait, ray.get = cluster.listed, cluster.wait, cluster.get
    ray.cancel = lambda reference, force: None
    ray.remote = lambda function: Function(cluster, function)
    ray.get_runtime_context = lambda: types.SimpleNamespace(get_node_id=lambda: "node")
    return ray


@pytest.fixture(name="cluster")
def fixture_cluster(monkeypatch):
    """The package with this Ray in the place of the real one, which need not be there."""
    import dequant
    cluster = Cluster()
    strategies = types.ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = lambda node, soft: None
    for name, module in {"ray": cluster.module, "ray.exceptions": cluster.module.exceptions,
                         "ray.util": types.ModuleType("ray.util"),
                         "ray.util.scheduling_strategies": strategies}.items():
        monkeypatch.setitem(sys.modules, name, module)
    own = ("ray", "_ray_nodes", "_ray_run", "_ray_command")
    before = {name: sys.modules.pop(f"dequant.{name}", None) for name in own}
    yield cluster
    for name, module in before.items():
        sys.modules.pop(f"dequant.{name}", None)
        vars(dequant).pop(name, None)
        if module is not None:
            sys.modules[f"dequant.{name}"] = module
            setattr(dequant, name, module)

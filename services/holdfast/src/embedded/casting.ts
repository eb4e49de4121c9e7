import type { ContainerRuntime } from '@holdfast/kubelet';
import type { Service } from '@holdfast/platform';
import type { Incarnation } from '../play/actor.ts';
import type { Life } from '../play/gate.ts';
import type { ComponentsDeps } from './components.ts';
import type { PlayTools } from './play.ts';

/** A component of the cluster: in one that was started for faults its ways to the others lead through a gate. */
export function cast(
  deps: ComponentsDeps,
  name: string,
  kind: 'node' | 'master',
  create: (deps: ComponentsDeps, isFirst: boolean) => Incarnation,
): Service {
  const { play } = deps;
  if (play === undefined) return create(deps, true);
  return play.stage.cast(name, kind, (life, isFirst) => create(behindGate(deps, play, life), isFirst));
}

function behindGate(
  deps: ComponentsDeps,
  { gatedBus, gatedClock, gatedRuntime, gatedHandler, gatedTransport }: PlayTools,
  life: Life,
) {
  const { machine, bus, front } = deps;
  const way = { ...life, clock: machine.clock };
  const clock = gatedClock(machine.clock, life);
  return {
    ...deps,
    machine: { ...machine, clock },
    bus: gatedBus(bus, life),
    runtimeOf: (runtime: ContainerRuntime) => gatedRuntime(runtime, way),
    front: {
      ...front,
      clientOf: (user: string, incarnation?: string) =>
        front.clientOf(user, incarnation, { clock, around: (transport) => gatedTransport(transport, way) }),
      nodes: {
        ...front.nodes,
        add: (node: string, handle: Parameters<typeof front.nodes.add>[1]) =>
          front.nodes.add(node, gatedHandler(handle, way)),
      },
    },
  };
}

/** A component that ends with its process, and leaves nothing. */
export const whole = (service: Service): Incarnation => ({
  name: service.name,
  start: () => service.start(),
  stop: () => service.stop(),
  abandon: () => service.stop(),
});

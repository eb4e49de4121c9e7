import { createKubelet, HOLLOW_PROBE_NETWORK, hollowNodeFacts } from '@holdfast/kubelet';
import { createHollowRuntime, type HollowRuntime, type HollowState } from '@holdfast/kubelet/hollow-runtime';
import { nodeUser } from '@holdfast/pki/credentials';
import type { Service } from '@holdfast/platform';
import type { NodePlane } from './control-plane.ts';
import type { Machine } from './machines.ts';
import type { ClusterConfig } from './options.ts';
import { podScript } from './pod-scripts.ts';

/** What all hollow machines hold, by the name of the node. */
export type HollowStates = ReadonlyMap<string, HollowState>;

/** The simulated machines of one control plane, each with its kubelet. */
export class HollowNodes {
  readonly #machines = new Map<string, HollowRuntime>();
  readonly #config: ClusterConfig;
  readonly #machineOf: (name: string) => Machine;

  constructor(config: ClusterConfig, machineOf: (name: string) => Machine, states: HollowStates) {
    this.#config = config;
    this.#machineOf = machineOf;
    for (const { name } of config.hollowNodes) {
      const machine = machineOf(`machine of ${name}`);
      this.#machines.set(name, createHollowRuntime({ ...machine, nodeName: name, state: states.get(name) }));
    }
  }

  states(): HollowStates {
    return new Map([...this.#machines].map(([name, machine]) => [name, machine.state()]));
  }

  /** The kubelets, as one service: one after the other, thousands would take minutes to stop. */
  kubelets(plane: NodePlane): Service {
    const kubelets = this.#config.hollowNodes.map((node, i) => this.#kubelet(plane, node, i));
    const all = async (work: (kubelet: Service) => Promise<void>): Promise<void> => {
      await Promise.all(kubelets.map(work));
    };
    return {
      name: 'hollow nodes',
      start: () => all((kubelet) => kubelet.start()),
      stop: async () => {
        await all((kubelet) => kubelet.stop());
        for (const machine of this.#machines.values()) machine.powerOff();
      },
    };
  }

  #kubelet(plane: NodePlane, node: ClusterConfig['hollowNodes'][number], index: number): Service {
    const { name, labels, capacity } = node;
    const machine = this.#machines.get(name);
    if (machine === undefined) throw new Error(`the node ${name} has no machine`);
    const kubelet = createKubelet({
      ...this.#machineOf(`kubelet of ${name}`),
      bus: plane.bus,
      runtime: machine.connect(),
      node: hollowNodeFacts({ name, address: hollowAddress(index), labels, capacity }),
      client: plane.clientOf(nodeUser(name)),
      network: HOLLOW_PROBE_NETWORK,
      scriptOf: (pod, container) => podScript(this.#config.scripts, pod, container),
    });
    plane.nodes.add(name, kubelet.api);
    return kubelet;
  }
}

/** In 198.18.0.0/15, which is reserved for benchmarks and never routed. */
const hollowAddress = (index: number): string => `198.18.${Math.floor(index / 250)}.${(index % 250) + 1}`;

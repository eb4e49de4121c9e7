import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { HoldfastProcess } from './holdfast-process.ts';
import { createKubectl, type Kubectl } from './kubectl.ts';
import { waitFor } from './wait.ts';

const TOUR = path.resolve(import.meta.dirname, '../../docs/examples/tour.yaml');
const FAULTS = '/holdfast.io/play/v1/faults';
/** The pod of the tour. */
export const PET = 'db-1';

/** The flags of a cluster in which the tour of the README can be played without containers. */
export const TOUR_FLAGS: readonly string[] = ['--memory', '--nodes', '3', '--play', '--pod-network=host'];

/** The steps of "Cut a wire" in the README, in a cluster with buttons instead of containers. */
export class PartitionTour {
  readonly #run: Kubectl['run'];
  readonly #dataDir: string;

  constructor({ ready, dataDir }: HoldfastProcess) {
    this.#run = createKubectl(() => ready.kubeconfig).run;
    this.#dataDir = dataDir;
  }

  /** Starts the pods, and returns the node of the pod of the tour. */
  async begin(): Promise<string> {
    await this.#run('apply', '-f', TOUR);
    await this.#run('rollout', 'status', 'statefulset', 'db', '--timeout=120s');
    await this.#run('rollout', 'status', 'deployment', 'web', '--timeout=120s');
    return this.#pet('{.spec.nodeName}');
  }

  /** Cuts the node off until the pod runs elsewhere. Returns the fault. */
  async cut(node: string): Promise<string> {
    const step = path.join(this.#dataDir, 'cut.json');
    writeFileSync(step, JSON.stringify({ do: 'isolate', target: node }));
    const { id } = JSON.parse(await this.#run('create', '--raw', FAULTS, '-f', step)) as { readonly id: string };
    await waitFor(`${PET} runs elsewhere`, async () => {
      const [where, phase] = (await this.#pet('{.spec.nodeName} {.status.phase}')).split(' ');
      return where !== node && phase === 'Running';
    });
    return id;
  }

  /** Mends the wire until the node is ready and promises again. */
  async mend(fault: string, node: string): Promise<void> {
    await this.#run('delete', '--raw', `${FAULTS}/${fault}`);
    await this.#run('wait', `node/${node}`, '--for=condition=Ready', '--timeout=60s');
    await this.#run('wait', `node/${node}`, '--for=condition=SelfFenced=False', '--timeout=60s');
  }

  /** Empty while the pod does not exist. */
  #pet(template: string): Promise<string> {
    return this.#run('get', 'pod', PET, '--ignore-not-found', '-o', `jsonpath=${template}`);
  }
}

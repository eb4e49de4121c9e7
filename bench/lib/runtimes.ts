import { TestContainerd } from '../../test/support/containerd.ts';
import { TestDockerd } from '../../test/support/dockerd.ts';

export const RUNTIMES = ['process', 'docker', 'cri'] as const;
export type Runtime = (typeof RUNTIMES)[number];

/** What runs the pods of a bench, and how a cluster is told. */
export interface RunningRuntime extends AsyncDisposable {
  readonly flags: readonly string[];
  readonly image: string;
}

/** A test image of both engines; nothing is pulled. */
const IMAGE = 'busybox:1.36';

/** Starts an engine of the bench's own; processes need none. */
export async function startRuntime(runtime: Runtime): Promise<RunningRuntime> {
  if (runtime === 'process')
    return { flags: ['--runtime=process'], image: 'none', [Symbol.asyncDispose]: async () => {} };
  const engine = await (runtime === 'docker' ? TestDockerd : TestContainerd).start();
  return {
    flags: [`--runtime=${runtime}`, '--container-runtime-endpoint', engine.endpoint, '--without=proxy'],
    image: IMAGE,
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Exploration, type ExploreOptions, explore } from '@holdfast/cluster/explore';
import { createSystemClock } from '@holdfast/platform';
import { OWN_CONTROLLERS } from './own-controllers.ts';

const PROGRAM = path.resolve(import.meta.dirname, 'own-program-main.ts');

/** Explores one of our controllers as a process of its own, on a cluster that runs all others. */
export async function exploreOwn(
  name: string,
  settings: Pick<ExploreOptions, 'plans'> &
    Partial<Pick<ExploreOptions, 'only' | 'quietMs' | 'withinMs' | 'onProgress'>>,
): Promise<Exploration> {
  const own = OWN_CONTROLLERS.get(name);
  if (own === undefined) throw new Error(`there is no workload ${name}`);
  const { controllers, workload, flags = [], without = controllers, quietMs = 700, hollowNodes = 1 } = own;
  // The program is compiled once for all runs of an exploration.
  const modules = mkdtempSync(path.join(tmpdir(), 'holdfast-explore-modules-'));
  try {
    return await explore({
      workload,
      command: [process.execPath, PROGRAM, controllers.join(','), ...flags],
      env: { NODE_COMPILE_CACHE: modules },
      clock: createSystemClock(),
      hollowNodes,
      controllers: ['*', ...without.map((each) => `-${each}`)],
      quietMs,
      startWithinMs: 60_000,
      seed: 1,
      withinMs: 3_600_000,
      ...settings,
    });
  } finally {
    rmSync(modules, { recursive: true, force: true });
  }
}

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Exploration, type ExploreOptions, explore, readWorkload, type Workload } from '@holdfast/cluster/explore';
import { createSystemClock } from '@holdfast/platform';
import { PLANTED, type TankSteps } from './registry.ts';

const OPERATOR = path.resolve(import.meta.dirname, 'operator-main.ts');

const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'tanks.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'tanks', singular: 'tank', kind: 'Tank', listKind: 'TankList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        subresources: { status: {} },
      },
    ],
  },
};

function workloadOf(steps: TankSteps): Workload {
  const tank = { apiVersion: 'example.com/v1', kind: 'Tank', metadata: { name: 'a', namespace: 'default' } };
  return readWorkload({
    setup: [DEFINITION],
    steps: steps.map((spec) => (spec === undefined ? { delete: tank } : { apply: { ...tank, spec } })),
  });
}

/** Explores one of the small operators. */
export async function explorePlanted(
  name: string,
  form: 'planted' | 'correct',
  settings: Pick<ExploreOptions, 'plans' | 'untilFirst'> &
    Partial<Pick<ExploreOptions, 'only' | 'quietMs' | 'onProgress'>>,
): Promise<Exploration> {
  const planted = PLANTED.get(name);
  if (planted === undefined) throw new Error(`there is no operator ${name}`);
  // The official client is compiled once for all runs of an exploration.
  const modules = mkdtempSync(path.join(tmpdir(), 'holdfast-explore-modules-'));
  try {
    return await explore({
      workload: workloadOf(planted.steps),
      command: [process.execPath, OPERATOR, name, form],
      env: { NODE_COMPILE_CACHE: modules },
      clock: createSystemClock(),
      hollowNodes: 0,
      quietMs: 500,
      startWithinMs: 60_000,
      seed: 1,
      withinMs: 3_600_000,
      ...settings,
    });
  } finally {
    rmSync(modules, { recursive: true, force: true });
  }
}

import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Scenario } from '../../scenario/model.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { type FormName, mastersOf, serviceOf } from '../support/compose-form.ts';
import type { End } from './users.ts';

/** Debian's package libfaketime. */
const LIBRARY = '/usr/lib/*/faketime/libfaketime.so.1';
const [LIBRARY_INSIDE, FOLDER_INSIDE] = ['/run/clock.so', '/run/clock'];
const FILE = 'now';

export const movesClocks = ({ schedule }: Scenario): boolean => schedule.some((step) => step.do === 'clock-jump');

/** A compose file that gives each process of the control plane a wall clock of its own; what it measures spans by stays that of the machine. */
export function clocksFile(form: FormName, folder: string): string {
  const [library] = globSync(LIBRARY);
  if (library === undefined) throw new Error('libfaketime is missing: install this package, or leave clock-jump out');
  const services = Object.fromEntries(
    mastersOf(form).map((service) => [
      service,
      {
        environment: {
          LD_PRELOAD: LIBRARY_INSIDE,
          FAKETIME_TIMESTAMP_FILE: `${FOLDER_INSIDE}/${FILE}`,
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
          FAKETIME_CACHE_DURATION: '1',
        },
        volumes: [`${library}:${LIBRARY_INSIDE}:ro`, `${folderOf(folder, service)}:${FOLDER_INSIDE}:ro`],
      },
    ]),
  );
  for (const service of Object.keys(services)) writeOffset(folder, service, 0);
  const file = path.join(folder, 'clocks.json');
  writeFileSync(file, JSON.stringify({ services }));
  return file;
}

/** It stays so, as in the simulator. */
export async function moveClock(cluster: ComposeCluster, target: string, byMs: number): Promise<End | void> {
  const { clocksFolder } = cluster;
  if (clocksFolder === undefined) throw new Error('the containers were started without clocks of their own');
  const service = serviceOf(target);
  const before = Number.parseFloat(readFileSync(path.join(folderOf(clocksFolder, service), FILE), 'utf8'));
  writeOffset(clocksFolder, service, before + byMs / 1000);
}

/** All clocks go right again. */
export function setClocksRight({ clocksFolder, form }: ComposeCluster): void {
  if (clocksFolder !== undefined) for (const service of mastersOf(form)) writeOffset(clocksFolder, service, 0);
}

const folderOf = (folder: string, service: string): string => path.join(folder, 'clocks', service);

function writeOffset(folder: string, service: string, seconds: number): void {
  mkdirSync(folderOf(folder, service), { recursive: true });
  const text = `${seconds < 0 ? '' : '+'}${seconds.toFixed(3)}\n`;
  writeFileSync(path.join(folderOf(folder, service), FILE), text, { mode: 0o644 });
}

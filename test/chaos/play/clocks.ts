import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Scenario } from '../../scenario/model.ts';
import { buildClockLibrary, createClockFile, moveWallClock, setRight, slowClocks } from '../clock/clock-file.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { type FormName, mastersOf, nodesOf, serviceOf } from '../support/compose-form.ts';
import type { End } from './users.ts';

const [LIBRARY_INSIDE, FOLDER_INSIDE] = ['/run/clock.so', '/run/clock'];
const FILE = 'now';

export const movesClocks = ({ schedule }: Scenario): boolean =>
  schedule.some((step) => step.do === 'clock-jump' || step.do === 'clock-slow');

/** A compose file that gives each process of the control plane and each node clocks of its own. */
export function clocksFile(form: FormName, folder: string): string {
  const library = buildClockLibrary(folder);
  // A variable of the environment would end with the kubelet: what guards its pods gets none.
  const preload = path.join(folder, 'ld.so.preload');
  writeFileSync(preload, `${LIBRARY_INSIDE}\n`, { mode: 0o644 });
  const mounts = (service: string): readonly string[] => [
    `${library}:${LIBRARY_INSIDE}:ro`,
    `${preload}:/etc/ld.so.preload:ro`,
    `${folderOf(folder, service)}:${FOLDER_INSIDE}:ro`,
  ];
  const nodes = nodesOf(form);
  const services = [...mastersOf(form), ...nodes];
  for (const service of services) {
    mkdirSync(folderOf(folder, service), { recursive: true });
    createClockFile(fileOf(folder, service));
    // Processes of pods are other users: what they write down is measured by the clock of the machine.
    if (nodes.includes(service)) chmodSync(folderOf(folder, service), 0o700);
  }
  const file = path.join(folder, 'clocks.json');
  const additions = Object.fromEntries(services.map((service) => [service, { volumes: mounts(service) }]));
  writeFileSync(file, JSON.stringify({ services: additions }));
  return file;
}

/** It stays so, as in the simulator. */
export async function moveClock(cluster: ComposeCluster, target: string, byMs: number): Promise<End | void> {
  moveWallClock(fileFor(cluster, target), byMs);
}

export async function slowClock(cluster: ComposeCluster, target: string, thousandths: number): Promise<End> {
  const file = fileFor(cluster, target);
  slowClocks(file, thousandths);
  return async () => slowClocks(file, 0);
}

/** All clocks go right again. */
export function setClocksRight({ clocksFolder, form }: ComposeCluster): void {
  if (clocksFolder === undefined) return;
  for (const service of [...mastersOf(form), ...nodesOf(form)]) setRight(fileOf(clocksFolder, service));
}

function fileFor({ clocksFolder }: ComposeCluster, target: string): string {
  if (clocksFolder === undefined) throw new Error('the containers were started without clocks of their own');
  return fileOf(clocksFolder, serviceOf(target));
}

const folderOf = (folder: string, service: string): string => path.join(folder, 'clocks', service);

const fileOf = (folder: string, service: string): string => path.join(folderOf(folder, service), FILE);

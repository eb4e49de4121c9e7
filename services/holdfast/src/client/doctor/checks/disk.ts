import type { Check } from '../check.ts';
import { type Judgement, ok, problem, warning } from '../finding.ts';
import { type DiskFacts, diskFacts, existing } from '../probes.ts';

export const DISK: Check = {
  name: 'disk',
  look: ({ dataDir }) => Promise.resolve(judgeDisk(dataDir, diskFacts(existing(dataDir)))),
};

const MB = 2 ** 20;
const LITTLE_MB = 200;
const SOME_MB = 1024;
const FEW_FILES = 10_000;
const NETWORK_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x65735546, 'FUSE'],
]);
const MEMORY_TYPES: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

export function judgeDisk(directory: string, { freeBytes, freeFiles, type }: DiskFacts): Judgement {
  const freeMb = Math.floor(freeBytes / MB);
  const elsewhere = 'Choose a directory on a local disk with --data-dir.';
  const network = NETWORK_TYPES.get(type);
  const left = Number.isFinite(freeFiles) ? `${freeMb} MB and ${freeFiles} files` : `${freeMb} MB`;
  if (freeMb < LITTLE_MB || freeFiles === 0)
    return problem(`${directory} has ${left} left`, 'Free some space: writes are refused when the disk is full.');
  if (network !== undefined)
    return warning(`${directory} is on ${network}, whose locks and syncs may not hold`, elsewhere);
  if (MEMORY_TYPES.has(type)) return warning(`${directory} is in memory: a reboot loses the cluster`, elsewhere);
  if (freeMb < SOME_MB || freeFiles < FEW_FILES)
    return warning(`${directory} has ${left} left`, 'Free some space: nodes report disk pressure.');
  return ok(`${directory} has ${Math.floor(freeMb / 1024)} GB left`);
}

import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, readlinkSync, renameSync, writeSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { formatIncarnation } from '@holdfast/api';
import type { Ids } from '@holdfast/platform';
import type { BoundIncarnation } from '../node/node-agent.ts';

const KEY_FILE = 'incarnation-key';
const BOUND_FILE = 'incarnation-bound';
const SOURCE_FILE = 'incarnation-machine';
const PID_NAMESPACE = '/proc/self/ns/pid';
const KEY = /^[0-9a-f-]{36}$/;
/** Identifies the firmware, not the disk. */
const HARDWARE_FILES = [
  '/sys/class/dmi/id/product_uuid',
  '/sys/class/dmi/id/board_serial',
  '/sys/firmware/devicetree/base/serial-number',
];

/** Reads the identity of this machine, its boot and this installation: see `NodeIncarnation`. */
export function readIncarnation(stateDirectory: string, ids: Ids, firmware = readFirmware): string {
  return formatIncarnation({
    key: keyOf(stateDirectory, ids),
    machine: digest(machineParts(stateDirectory, firmware())),
    boot: digest(bootParts()),
  });
}

const readFirmware = (): readonly string[] => HARDWARE_FILES.map(readText).filter((text) => text !== '');

/**
 * When the firmware has no ids, the id of the installation must suffice, although a copied disk has the same one. The
 * firmware reveals its ids only to root. So the ids of the first start are kept, and a machine whose kubelet later runs
 * as root keeps its identity.
 */
function machineParts(stateDirectory: string, firmware: readonly string[]): readonly string[] {
  const file = join(stateDirectory, SOURCE_FILE);
  const kept = readText(file);
  const source = kept === '' && firmware.length > 0 ? 'firmware' : kept;
  if (kept === '') writeDurably(file, source === 'firmware' ? source : 'machine-id');
  const parts = source === 'firmware' && firmware.length > 0 ? firmware : [readText('/etc/machine-id')];
  // Containers share the hardware; a host may be given another name at any time, and is still the same.
  return isContainer() ? [...parts, hostname()] : parts;
}

/** The inode number of the first PID namespace is fixed by the kernel. */
const HOST_PID_NAMESPACE = 'pid:[4026531836]';

const isContainer = (): boolean => readLink(PID_NAMESPACE) !== HOST_PID_NAMESPACE;

/** A container has boots of its own: its processes end with the first of them, whatever the machine does. */
const bootParts = (): readonly string[] => [
  readText('/proc/sys/kernel/random/boot_id'),
  readLink(PID_NAMESPACE),
  startOfFirstProcess(readText('/proc/1/stat')),
];

/** Field 22, counted behind the name, which may hold spaces. */
const startOfFirstProcess = (stat: string): string => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';

const digest = (parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** Durable before anyone uses it: losing the key in a power cut would change the identity of this machine. */
function keyOf(stateDirectory: string, ids: Ids): string {
  const file = join(stateDirectory, KEY_FILE);
  const kept = readText(file);
  if (KEY.test(kept)) return kept;
  const made = ids.uuid();
  writeDurably(file, made);
  return made;
}

/** Beside the key; a kubelet that starts again finds which incarnation its containers were started under. */
export function boundRecord(stateDirectory: string): BoundIncarnation {
  const file = join(stateDirectory, BOUND_FILE);
  return {
    read: () => readText(file) || undefined,
    write: (incarnation) => writeDurably(file, incarnation),
  };
}

function writeDurably(file: string, text: string): void {
  const descriptor = openSync(`${file}.new`, 'w', 0o600);
  try {
    writeSync(descriptor, `${text}\n`);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
  renameSync(`${file}.new`, file);
}

/** '' where this system does not have it, or does not show it to this user. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return '';
    throw error;
  }
}

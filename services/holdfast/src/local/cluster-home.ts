import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform';
import { isAlive, type ProcessIdentity } from './process-identity.ts';

export const DEFAULT_NAME = 'default';
const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const FORMAT = 1;

/** What is known of a cluster between two commands. */
export interface ClusterRecord {
  readonly format: typeof FORMAT;
  readonly name: string;
  readonly createdMs: number;
  /** The flags of its start, and the directory in which their paths are. */
  readonly flags: readonly string[];
  readonly directory: string;
  /** Absent: it was stopped. */
  readonly process?: ProcessIdentity;
  /** Known once it was ready. It stays, so that the kubeconfig of a stopped cluster is right when it starts again. */
  readonly url?: string;
  /** Kubeconfig files that have its context. */
  readonly mergedInto: readonly string[];
}

type Environment = Readonly<Record<string, string | undefined>>;

/** The files of one named cluster. */
export class ClusterHome {
  readonly name: string;
  readonly folder: string;

  constructor(name: string, env: Environment) {
    if (!NAME.test(name)) throw badName(name);
    this.name = name;
    this.folder = path.join(homeOf(env), name);
  }

  get dataDirectory(): string {
    return path.join(this.folder, 'data');
  }

  get kubeconfig(): string {
    return path.join(this.dataDirectory, 'kubeconfig');
  }

  get log(): string {
    return path.join(this.folder, 'log');
  }

  get #recordFile(): string {
    return path.join(this.folder, 'cluster.json');
  }

  read(): ClusterRecord | undefined {
    if (!existsSync(this.#recordFile)) return undefined;
    const record = decodeRecord(readFileSync(this.#recordFile, 'utf8'));
    if (record !== undefined) return record;
    throw new OperatorError({
      code: 'ClusterRecord',
      message: `${this.#recordFile} is damaged`,
      nextStep: `Stop the process that uses ${this.dataDirectory}, if there is one, then remove ${this.folder}.`,
    });
  }

  /** Atomic: after a crash the old record is intact. */
  write(record: ClusterRecord): void {
    mkdirSync(this.folder, { recursive: true, mode: PRIVATE_FOLDER });
    writeFileSync(`${this.#recordFile}.new`, `${JSON.stringify(record, undefined, 2)}\n`, { mode: PRIVATE_FILE });
    renameSync(`${this.#recordFile}.new`, this.#recordFile);
  }
}

/** All named clusters of this user. */
export function clusterHomes(env: Environment): readonly ClusterHome[] {
  const home = homeOf(env);
  if (!existsSync(home)) return [];
  const names = readdirSync(home).filter(
    (name) => NAME.test(name) && existsSync(path.join(home, name, 'cluster.json')),
  );
  return names.sort().map((name) => new ClusterHome(name, env));
}

export const newRecord = (name: string, createdMs: number, directory: string): ClusterRecord => ({
  format: FORMAT,
  name,
  createdMs,
  flags: [],
  directory,
  mergedInto: [],
});

/** Absent when the recorded process does not live. */
export const livingProcess = (record: ClusterRecord | undefined): ProcessIdentity | undefined =>
  record?.process !== undefined && isAlive(record.process) ? record.process : undefined;

/** As after a stop. */
export function withoutProcess(record: ClusterRecord): ClusterRecord {
  const { process: _, ...rest } = record;
  return rest;
}

/** The name of its context, cluster and user in a kubeconfig of the user. */
export const contextOf = (name: string): string => `holdfast-${name}`;

function homeOf(env: Environment): string {
  const state = env['XDG_STATE_HOME'] ?? '';
  const base = path.isAbsolute(state) ? state : path.join(env['HOME'] ?? homedir(), '.local', 'state');
  return path.join(base, 'holdfast');
}

function decodeRecord(text: string): ClusterRecord | undefined {
  try {
    const value: Partial<ClusterRecord> | null = JSON.parse(text);
    const isRecord = value?.format === FORMAT && Array.isArray(value.flags) && Array.isArray(value.mergedInto);
    return isRecord ? (value as ClusterRecord) : undefined;
  } catch {
    return undefined;
  }
}

const badName = (name: string): OperatorError =>
  new OperatorError({
    code: 'ClusterName',
    message: `"${name}" is not a name for a cluster`,
    nextStep: 'Use up to 40 small letters, digits and dashes, such as --name dev-1.',
    exitCode: 2,
  });

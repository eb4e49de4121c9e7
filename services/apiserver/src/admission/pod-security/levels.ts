import { type FieldError, invalid } from '@holdfast/machinery';

const LEVELS = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof LEVELS)[number];

/** A level as it was in one minor version of Kubernetes 1. */
export interface LeveledVersion {
  readonly level: Level;
  /** Infinity = the latest. */
  readonly minor: number;
}

/** The pod security settings of a namespace. */
export interface PodSecurityPolicy {
  readonly enforce: LeveledVersion;
  /** Violations are recorded in audit events. */
  readonly audit: LeveledVersion;
  readonly warn: LeveledVersion;
}

const PREFIX = 'pod-security.kubernetes.io/';
const LATEST = Number.POSITIVE_INFINITY;
const UNRESTRICTED: LeveledVersion = { level: 'privileged', minor: LATEST };

type Labels = Readonly<Record<string, string>>;

interface ReadPolicy {
  readonly policy: PodSecurityPolicy;
  readonly errors: readonly FieldError[];
}

/** The labels of a stored namespace are frozen, and read for every pod in it. */
const known = new WeakMap<Labels, ReadPolicy>();
const NO_LABELS: Labels = Object.freeze({});

export function readPolicy(labels: Labels = NO_LABELS): ReadPolicy {
  const before = known.get(labels);
  if (before !== undefined) return before;
  const read = readLabels(labels);
  if (Object.isFrozen(labels)) known.set(labels, read);
  return read;
}

function readLabels(labels: Labels): ReadPolicy {
  const errors: FieldError[] = [];
  // A label that cannot be read protects as much as possible, but does not disturb.
  const enforce = readMode(labels, 'enforce', { unreadable: 'restricted', absent: UNRESTRICTED, errors });
  const audit = readMode(labels, 'audit', { unreadable: 'privileged', absent: UNRESTRICTED, errors });
  const isEnforced = isLevel(labels[`${PREFIX}enforce`]);
  const warn = readMode(labels, 'warn', {
    unreadable: 'privileged',
    absent: isEnforced ? enforce : UNRESTRICTED,
    errors,
  });
  return { policy: { enforce, audit, warn }, errors };
}

interface Reading {
  readonly unreadable: Level;
  readonly absent: LeveledVersion;
  readonly errors: FieldError[];
}

function readMode(labels: Labels, mode: string, { unreadable, absent, errors }: Reading): LeveledVersion {
  const level = labels[`${PREFIX}${mode}`];
  const version = labels[`${PREFIX}${mode}-version`];
  if (level !== undefined && !isLevel(level)) {
    errors.push(invalid(pathOf(mode), level, `must be one of ${LEVELS.join(', ')}`));
  }
  const minor = version === undefined ? undefined : minorOf(version);
  if (version !== undefined && minor === undefined) {
    errors.push(invalid(pathOf(`${mode}-version`), version, 'must be "latest" or "v1.x"'));
  }
  return {
    level: level === undefined ? absent.level : isLevel(level) ? level : unreadable,
    minor: version !== undefined ? (minor ?? LATEST) : level === undefined ? absent.minor : LATEST,
  };
}

const pathOf = (label: string): string => `metadata.labels[${PREFIX}${label}]`;

const isLevel = (text: string | undefined): text is Level => LEVELS.some((level) => level === text);

function minorOf(version: string): number | undefined {
  if (version === 'latest') return LATEST;
  const digits = /^v1\.(0|[1-9][0-9]*)$/.exec(version)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** `restricted:latest` */
export const printLevel = ({ level, minor }: LeveledVersion): string =>
  `${level}:${minor === LATEST ? 'latest' : `v1.${minor}`}`;

export const isSameLevel = (a: LeveledVersion, b: LeveledVersion): boolean =>
  a.level === b.level && a.minor === b.minor;

export const isStricter = (a: Level, b: Level): boolean => LEVELS.indexOf(a) > LEVELS.indexOf(b);

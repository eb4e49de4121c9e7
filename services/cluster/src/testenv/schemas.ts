import { lensSettings } from '../lens/index.ts';
import { LOOPBACK_HOSTS, OPTIONAL_PARTS, PROCESS_NODES_MAX, type StartOptions } from '../options.ts';
import type { ObjectSchema, Schema } from './schema.ts';

/** Options of a cluster that JSON can carry. A cluster of the control endpoint always listens. */
type WireOptions = Omit<StartOptions, 'onLog'>;

const TEXT: Schema = { type: 'string' };
const NAME: Schema = { type: 'string', minLength: 1 };
const TEXTS: ObjectSchema = { type: 'object', additionalProperties: TEXT };
const HOLLOW_NODES_MAX = 10_000;
const SCRIPTS_MAX = 1_000;
const CONTROLLERS_MAX = 100;

const PROCESS_NODE: ObjectSchema = {
  type: 'object',
  properties: { name: NAME, labels: TEXTS },
  additionalProperties: false,
};

const HOLLOW_NODE: ObjectSchema = {
  type: 'object',
  properties: { name: NAME, labels: TEXTS, capacity: TEXTS },
  additionalProperties: false,
};

const OPTION_SCHEMAS: Readonly<Record<keyof WireOptions, Schema>> = {
  from: { ...NAME, description: 'A snapshot file on the machine of the control endpoint, to continue from.' },
  hollowNodes: {
    description: 'Nodes that simulate their pods: a number, or what is special about each.',
    anyOf: [
      { type: 'integer', minimum: 0, maximum: HOLLOW_NODES_MAX },
      { type: 'array', items: HOLLOW_NODE, maxItems: HOLLOW_NODES_MAX },
    ],
  },
  processNodes: {
    description:
      'Nodes whose pods are processes of the machine of the control endpoint, on real time: a number, or what is special about each.',
    anyOf: [
      { type: 'integer', minimum: 0, maximum: PROCESS_NODES_MAX },
      { type: 'array', items: PROCESS_NODE, maxItems: PROCESS_NODES_MAX },
    ],
  },
  scripts: {
    description: 'What containers on hollow nodes do, for pods with these labels.',
    type: 'array',
    items: {
      type: 'object',
      properties: { namespace: NAME, labels: TEXTS, script: NAME },
      required: ['script'],
      additionalProperties: false,
    },
    maxItems: SCRIPTS_MAX,
  },
  clock: { type: 'string', enum: ['real', 'virtual'], description: 'virtual: time stands still until it is advanced.' },
  seed: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1, description: 'Makes uids and random choices repeatable.' },
  https: {
    description: 'The HTTPS port of the cluster on 127.0.0.1. Default: a free one.',
    type: 'object',
    properties: {
      port: { type: 'integer', minimum: 0, maximum: 65_535 },
      host: { type: 'string', enum: LOOPBACK_HOSTS },
    },
    additionalProperties: false,
  },
  store: {
    description: 'memory, or the directory of a SQLite store.',
    anyOf: [
      { type: 'string', enum: ['memory'] },
      { type: 'object', properties: { sqlite: NAME }, required: ['sqlite'], additionalProperties: false },
    ],
  },
  features: {
    type: 'object',
    additionalProperties: { type: 'boolean' },
    description: 'Switches of the API server and the scheduler.',
  },
  without: {
    type: 'array',
    items: { type: 'string', enum: OPTIONAL_PARTS },
    description: 'Parts that do not run.',
  },
  controllers: {
    type: 'array',
    items: NAME,
    maxItems: CONTROLLERS_MAX,
    description: 'Which controllers run: "*" = all, a name = this one, a name with a minus in front = not this one.',
  },
  nodeMonitorGraceSeconds: {
    type: 'integer',
    minimum: 0,
    maximum: 86_400,
    description: 'After this time a silent node is Unknown.',
  },
  serviceNetwork: { type: 'string', description: 'IPv4 network of the addresses of services, such as 10.96.0.0/12.' },
  settleMs: {
    type: 'integer',
    minimum: 0,
    maximum: 10_000,
    description: 'On virtual time: how long clients have to be silent before a step ends.',
  },
};

export const OPTIONS_SCHEMA: ObjectSchema = {
  type: 'object',
  description: 'All fields are optional.',
  properties: OPTION_SCHEMAS,
  additionalProperties: false,
};

export const ADVANCE_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {
    duration: {
      description: 'A text such as "90s", "5m" or "1h30m", or milliseconds.',
      anyOf: [TEXT, { type: 'number', minimum: 0 }],
    },
  },
  required: ['duration'],
  additionalProperties: false,
};

export const HISTORY_QUERY_SCHEMA: ObjectSchema = {
  type: 'object',
  description: 'All fields are optional.',
  properties: {
    since: { ...NAME, description: 'Only this far back, such as "10m".' },
    from: { ...NAME, description: 'Only after this revision.' },
    to: { ...NAME, description: 'Only until this revision.' },
    path: { ...NAME, description: 'The path of an object or a list, such as "/api/v1/pods".' },
    user: { ...NAME, description: 'Only what this user wrote.' },
  },
  additionalProperties: false,
};

export const RESTORE_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: { snapshot: { type: 'string', minLength: 1, description: 'The id of a snapshot.' } },
  required: ['snapshot'],
  additionalProperties: false,
};

export const DIFF_QUERY_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: { to: { ...NAME, description: 'The id of another snapshot, or of a cluster: its present state.' } },
  required: ['to'],
  additionalProperties: false,
};

const REVISION: Schema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };

export const RANGE_SCHEMA: ObjectSchema = {
  type: 'object',
  description: 'Two revisions, as lists and snapshots have them.',
  properties: {
    from: { ...REVISION, description: 'The state before.' },
    to: { ...REVISION, description: 'The state after. Default: the present one.' },
  },
  required: ['from'],
  additionalProperties: false,
};

const LENS_FIELDS = Object.fromEntries(lensSettings());

/** The settings of all kinds. A lens refuses those that do not fit its kind. */
export const LENS_OPTIONS_SCHEMA: ObjectSchema = {
  type: 'object',
  description: 'Shows a fault to one client, named by user or userAgent.',
  properties: LENS_FIELDS,
  required: ['kind'],
  additionalProperties: false,
};

export const USER_OPTIONS_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {
    name: NAME,
    groups: { type: 'array', items: NAME, description: 'system:masters may do everything.' },
  },
  required: ['name'],
  additionalProperties: false,
};

/** Requests without fields. */
export const NOTHING_SCHEMA: ObjectSchema = { type: 'object', properties: {}, additionalProperties: false };

const answer = (properties: Readonly<Record<string, Schema>>): ObjectSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const CLUSTER_FIELDS = {
  id: TEXT,
  url: { ...TEXT, description: 'The address of the API server.' },
  clock: { type: 'string', enum: ['real', 'virtual'] },
  now: { ...TEXT, description: 'The time of the cluster, RFC 3339.' },
} as const;

export const CLUSTER_SCHEMA: ObjectSchema = answer({
  ...CLUSTER_FIELDS,
  kubeconfig: { ...TEXT, description: 'The text of a kubeconfig of an administrator.' },
});
export const CLUSTERS_SCHEMA: ObjectSchema = answer({ items: { type: 'array', items: answer(CLUSTER_FIELDS) } });
export const USER_SCHEMA: ObjectSchema = answer({ name: TEXT, kubeconfig: TEXT });
export const LENS_SCHEMA: ObjectSchema = answer({
  id: TEXT,
  cluster: TEXT,
  kind: TEXT,
  isView: { type: 'boolean', description: 'True: a correct but slow server could have shown it.' },
  isOn: { type: 'boolean' },
  hits: { type: 'integer', description: 'Requests that it changed.' },
});
export const LENSES_SCHEMA: ObjectSchema = answer({ items: { type: 'array', items: LENS_SCHEMA } });
export const TIME_SCHEMA: ObjectSchema = answer({ now: CLUSTER_FIELDS.now });
const HISTORY_CHANGE: ObjectSchema = {
  type: 'object',
  description: 'A change as the API answers it: docs/history.md.',
  properties: {
    revision: TEXT,
    time: TEXT,
    type: { type: 'string', enum: ['created', 'updated', 'deleted', 'refused'] },
  },
  required: ['revision', 'time', 'type'],
  additionalProperties: true,
};
export const HISTORY_SCHEMA: ObjectSchema = answer({ items: { type: 'array', items: HISTORY_CHANGE } });
const DIFFERENCE: ObjectSchema = {
  type: 'object',
  description: 'An object that differs. diff names the fields of an updated one by JSON pointers.',
  properties: {
    type: { type: 'string', enum: ['created', 'updated', 'deleted'] },
    object: { type: 'object', additionalProperties: TEXT },
    diff: { type: 'array', items: { type: 'object', additionalProperties: true } },
    diffCut: { type: 'boolean', description: 'True: only the first differences are shown.' },
  },
  required: ['type', 'object'],
  additionalProperties: false,
};
export const DIFF_SCHEMA: ObjectSchema = answer({
  items: { type: 'array', items: DIFFERENCE },
  isCut: { type: 'boolean', description: 'True: only the first objects are shown.' },
});
export const SNAPSHOT_SCHEMA: ObjectSchema = answer({
  id: TEXT,
  revision: { type: 'integer' },
  objects: { type: 'integer' },
});
export const SNAPSHOTS_SCHEMA: ObjectSchema = answer({ items: { type: 'array', items: SNAPSHOT_SCHEMA } });
export const PROBLEM_SCHEMA: ObjectSchema = answer({ message: TEXT, nextStep: TEXT });

import type { Json, LabelSelectorObject, StructSchema } from '@holdfast/machinery';
import { field, listOf, mapOf, STRING, scalar, strings, structsOf } from '@holdfast/machinery/schema-build';

const struct = structsOf('fencing.v1');

const EXPRESSION = struct('LabelSelectorRequirement', {
  key: scalar('string'),
  operator: scalar('string'),
  values: strings,
});
const SELECTOR = struct('LabelSelector', {
  matchLabels: mapOf(STRING),
  matchExpressions: listOf(() => EXPRESSION),
});
const EXEC = struct('ExecAgent', { command: strings, environment: mapOf(STRING) });
const HTTP = struct('HttpAgent', { url: scalar('string'), tokenFile: scalar('string'), caFile: scalar('string') });
const AGENT = struct('Agent', {
  name: scalar('string'),
  fences: scalar('string'),
  exec: field(() => EXEC),
  http: field(() => HTTP),
  timeoutSeconds: scalar('number'),
  nodeSelector: field(() => SELECTOR),
  servers: strings,
  parameters: mapOf(() => ({ kind: 'any' })),
});
const RULE = struct('Rule', {
  name: scalar('string'),
  agent: scalar('string'),
  podSelector: field(() => SELECTOR),
  namespaces: strings,
  minPriority: scalar('int32'),
  afterSeconds: scalar('number'),
  whenExhaustedSeconds: scalar('number'),
});

export const CONFIGURATION: StructSchema = struct('FencerConfiguration', {
  apiVersion: scalar('string'),
  kind: scalar('string'),
  agents: listOf(() => AGENT),
  rules: listOf(() => RULE),
  requestAgent: scalar('string'),
  maxFenced: scalar('int32'),
  nodeMonitorGraceSeconds: scalar('number'),
});

/** The file as written. Its types are checked; all fields are optional. */
export interface WireConfiguration {
  readonly agents?: readonly WireAgent[];
  readonly rules?: readonly WireRule[];
  readonly requestAgent?: string;
  readonly maxFenced?: number;
  readonly nodeMonitorGraceSeconds?: number;
}

export interface WireAgent {
  readonly name?: string;
  readonly fences?: string;
  readonly exec?: { readonly command?: readonly string[]; readonly environment?: Readonly<Record<string, string>> };
  readonly http?: { readonly url?: string; readonly tokenFile?: string; readonly caFile?: string };
  readonly timeoutSeconds?: number;
  readonly nodeSelector?: LabelSelectorObject;
  readonly servers?: readonly string[];
  readonly parameters?: Readonly<Record<string, Json>>;
}

export interface WireRule {
  readonly name?: string;
  readonly agent?: string;
  readonly podSelector?: LabelSelectorObject;
  readonly namespaces?: readonly string[];
  readonly minPriority?: number;
  readonly afterSeconds?: number;
  readonly whenExhaustedSeconds?: number;
}

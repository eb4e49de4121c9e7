import { ConfigurationError } from '@holdfast/client/configuration-file';
import { NODE_MONITOR_GRACE_SECONDS_DEFAULT, NODE_MONITOR_GRACE_SETTING } from '@holdfast/client/node-monitor-grace';
import {
  compileLabelSelector,
  DecodeError,
  decodeWithSchema,
  isJsonObject,
  type Json,
  type LabelSelectorMatcher,
  type LabelSelectorObject,
  SelectorError,
} from '@holdfast/machinery';
import type { FenceScope } from '../agents/port.ts';
import { AGENT_TIMEOUT_SECONDS_DEFAULT, EXHAUSTED_WAIT_SECONDS_DEFAULT, MAX_FENCED_DEFAULT } from '../limits.ts';
import { CONFIGURATION, type WireAgent, type WireConfiguration, type WireRule } from './schema.ts';

/** Which machines are fenced when and how: the file of `--config`, validated and with defaults. */
export interface FencerConfiguration {
  readonly agents: readonly AgentConfig[];
  readonly rules: readonly FenceRule[];
  /** Handles fences that a user requests by annotation; default: the first agent that fences nodes. */
  readonly requestAgent: string | undefined;
  readonly maxFenced: number;
  readonly nodeMonitorGraceSeconds: number;
}

export interface AgentConfig {
  readonly name: string;
  readonly scope: FenceScope;
  readonly how: AgentCommand | AgentAddress;
  readonly timeoutMs: number;
  /** The nodes that it can reach. */
  readonly nodes: LabelSelectorMatcher;
  /** The storage servers that it guards; empty means all servers of volumes. */
  readonly servers: readonly string[];
  readonly parameters: Readonly<Record<string, Json>>;
}

interface AgentCommand {
  readonly kind: 'exec';
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

interface AgentAddress {
  readonly kind: 'http';
  readonly url: string;
  readonly tokenFile: string | undefined;
  readonly caFile: string | undefined;
}

export interface FenceRule {
  readonly name: string;
  readonly agent: string;
  readonly pods: LabelSelectorMatcher;
  /** Empty means all. */
  readonly namespaces: readonly string[];
  readonly minPriority: number;
  /** Default: the pod's own toleration. */
  readonly afterSeconds: number | undefined;
  readonly whenExhaustedSeconds: number;
}

/** `graceSeconds` is the setting of the controller manager; a value in the file overrides it. */
export function decodeConfiguration(
  file: Json,
  graceSeconds: number = NODE_MONITOR_GRACE_SECONDS_DEFAULT,
): FencerConfiguration {
  const wire = decodeWire(file);
  const errors: string[] = [];
  const agents = (wire.agents ?? []).map((agent, i) => decodeAgent(agent, `agents[${i}]`, errors));
  const rules = (wire.rules ?? []).map((rule, i) => decodeRule(rule, { agents, path: `rules[${i}]`, errors }));
  const { requestAgent, maxFenced = MAX_FENCED_DEFAULT, nodeMonitorGraceSeconds = graceSeconds } = wire;
  if (agents.length === 0) errors.push('agents: at least one is needed');
  for (const name of duplicates(agents.map((agent) => agent.name))) errors.push(`agents: "${name}" is there twice`);
  if (requestAgent !== undefined && agents.every(({ name }) => name !== requestAgent))
    errors.push(`requestAgent: there is no agent "${requestAgent}"`);
  if (maxFenced < 1) errors.push('maxFenced: must be 1 or more');
  const { min, max } = NODE_MONITOR_GRACE_SETTING;
  if (nodeMonitorGraceSeconds < min || nodeMonitorGraceSeconds > max)
    errors.push(`nodeMonitorGraceSeconds: takes ${min} to ${max}`);
  if (errors.length > 0) throw new ConfigurationError(errors.join('\n'));
  return {
    agents,
    rules,
    requestAgent,
    maxFenced,
    nodeMonitorGraceSeconds,
  };
}

function decodeWire(file: Json): WireConfiguration {
  if (!isJsonObject(file)) throw new ConfigurationError('the file does not contain an object');
  try {
    const { value, unknownFields } = decodeWithSchema(file, CONFIGURATION);
    if (unknownFields.length > 0) throw new ConfigurationError(unknownFields.join('\n'));
    return value as WireConfiguration;
  } catch (error) {
    if (error instanceof DecodeError) throw new ConfigurationError(error.message, { cause: error });
    throw error;
  }
}

function decodeAgent(agent: WireAgent, path: string, errors: string[]): AgentConfig {
  const { name = '', fences = 'node', timeoutSeconds = AGENT_TIMEOUT_SECONDS_DEFAULT, servers = [] } = agent;
  if (name === '') errors.push(`${path}.name: is needed`);
  if (fences !== 'node' && fences !== 'storage') errors.push(`${path}.fences: takes node or storage, not "${fences}"`);
  if (fences === 'node' && servers.length > 0) errors.push(`${path}.servers: only for agents that fence storage`);
  if (timeoutSeconds <= 0) errors.push(`${path}.timeoutSeconds: must be more than 0`);
  return {
    name,
    scope: fences === 'storage' ? 'storage' : 'node',
    how: decodeHow(agent, path, errors),
    timeoutMs: timeoutSeconds * 1000,
    nodes: decodeSelector(agent.nodeSelector, `${path}.nodeSelector`, errors),
    servers,
    parameters: agent.parameters ?? {},
  };
}

function decodeHow({ exec, http }: WireAgent, path: string, errors: string[]): AgentConfig['how'] {
  if ((exec === undefined) === (http === undefined)) errors.push(`${path}: has to have either exec or http`);
  if (http === undefined) {
    const { command = [], environment = {} } = exec ?? {};
    if (exec !== undefined && command.length === 0) errors.push(`${path}.exec.command: is needed`);
    return { kind: 'exec', command, environment };
  }
  const { url = '', tokenFile, caFile } = http;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) errors.push(`${path}.http.url: takes an http or https address`);
  return { kind: 'http', url, tokenFile, caFile };
}

interface RuleContext {
  readonly agents: readonly AgentConfig[];
  readonly path: string;
  readonly errors: string[];
}

function decodeRule(rule: WireRule, { agents, path, errors }: RuleContext): FenceRule {
  const { name = path, agent = '', whenExhaustedSeconds = EXHAUSTED_WAIT_SECONDS_DEFAULT } = rule;
  if (agents.every((known) => known.name !== agent)) errors.push(`${path}.agent: there is no agent "${agent}"`);
  for (const [field, value = 0] of [
    ['afterSeconds', rule.afterSeconds],
    ['whenExhaustedSeconds', whenExhaustedSeconds],
  ] as const)
    if (value < 0) errors.push(`${path}.${field}: must not be negative`);
  return {
    name,
    agent,
    pods: decodeSelector(rule.podSelector, `${path}.podSelector`, errors),
    namespaces: rule.namespaces ?? [],
    minPriority: rule.minPriority ?? Number.NEGATIVE_INFINITY,
    afterSeconds: rule.afterSeconds,
    whenExhaustedSeconds,
  };
}

/** An absent selector selects everything. */
function decodeSelector(
  selector: LabelSelectorObject | undefined,
  path: string,
  errors: string[],
): LabelSelectorMatcher {
  try {
    return compileLabelSelector(selector ?? {});
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    errors.push(`${path}: ${error.message}`);
    return compileLabelSelector(undefined);
  }
}

const duplicates = (names: readonly string[]): ReadonlySet<string> =>
  new Set(names.filter((name, i) => names.indexOf(name) !== i));

import type { Clock } from '@holdfast/platform';
import type { AgentConfig } from '../configuration/configuration.ts';
import { createExecAgent } from './exec-agent.ts';
import { createHttpAgent } from './http-agent.ts';
import type { FenceAgent } from './port.ts';

/** Creates the agents of the configuration, by name. */
export function buildAgents(agents: readonly AgentConfig[], clock: Clock): ReadonlyMap<string, FenceAgent> {
  return new Map(agents.map((agent) => [agent.name, build(agent, clock)]));
}

function build(agent: AgentConfig, clock: Clock): FenceAgent {
  const { name, how, timeoutMs } = agent;
  return how.kind === 'exec'
    ? createExecAgent({ name, timeoutMs, clock, command: how.command, environment: how.environment })
    : createHttpAgent({ name, timeoutMs, clock, url: how.url, tokenFile: how.tokenFile, caFile: how.caFile });
}

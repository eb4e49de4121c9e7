import type { Agent, AgentOptions } from 'node:http';
import type { Agent as SecureAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { nodeHttp, nodeHttps, nodeTls } from '@holdfast/platform/http';
import type { NodeGateway } from './node-gateway.ts';

type Dial = NodeGateway['dial'];

/** Connections over HTTP; those to pods go the way that `dial` knows. */
export function podAgent(dial: Dial, options: AgentOptions = {}): Agent {
  return leadBy(dial, new (nodeHttp().Agent)(options), (socket) => socket);
}

/** The same over TLS. */
export function securePodAgent(dial: Dial, options: AgentOptions = {}): SecureAgent {
  return leadBy(dial, new (nodeHttps().Agent)(options), (socket, request) => nodeTls().connect({ ...request, socket }));
}

type Opened = Parameters<Agent['createConnection']>[1];

function leadBy<A extends Agent>(dial: Dial, agent: A, over: (socket: Duplex, request: object) => Duplex): A {
  if (dial === undefined) return agent;
  const ordinary = agent.createConnection.bind(agent);
  agent.createConnection = (request, opened) => {
    const dialled = dial({ host: request.host ?? '', port: Number(request.port) });
    if (dialled === undefined) return ordinary(request, opened);
    void tell(
      dialled.then((socket) => over(socket, request)),
      opened,
    );
    return undefined;
  };
  return agent;
}

async function tell(connection: Promise<Duplex>, opened: Opened): Promise<void> {
  try {
    opened?.(null, await connection);
  } catch (error) {
    opened?.(error instanceof Error ? error : new Error(String(error)), undefined as never);
  }
}

import { type Answer, Connection } from './connection.ts';
import type { Target } from './tls-connection.ts';

let namespaces = 0;

/** A namespace of this run in which pods can be created. */
export async function makeNamespace(target: Target): Promise<string> {
  const name = `bench-${process.pid}-${++namespaces}`;
  const connection = await Connection.open(target);
  await send(connection, ['POST', '/api/v1/namespaces'], { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } };
  // With controllers it is there already, or about to be.
  await connection.request('POST', `/api/v1/namespaces/${name}/serviceaccounts`, JSON.stringify(account));
  connection.close();
  return name;
}

export async function send(
  connection: Connection,
  [method, path]: readonly [method: string, path: string],
  body: unknown,
): Promise<Answer> {
  const answer = await connection.request(method, path, JSON.stringify(body));
  if (answer.status >= 300) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.body.toString()}`);
  return answer;
}

export interface Work {
  readonly connections: number;
  readonly count: number;
}

export async function drive(
  target: Target,
  { connections, count }: Work,
  step: (connection: Connection, index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = await Connection.open(target);
      for (let i = next++; i < count; i = next++) await step(connection, i);
      connection.close();
    }),
  );
}

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { type ApiClient, createApiClient } from '@holdfast/client';
import { createHttpsTransport } from '@holdfast/client/https';
import { createSystemClock } from '@holdfast/platform';
import { openTestenv } from './index.ts';

export const TOKEN = 'right-token';

interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** The fields of all answers; each has some of them. */
interface Body {
  readonly id: string;
  readonly url: string;
  readonly clock: string;
  readonly now: string;
  readonly kubeconfig: string;
  readonly items: readonly unknown[];
  readonly message: string;
  readonly nextStep: string;
  readonly openapi: string;
  readonly paths: Readonly<Record<string, PathItem>>;
}

interface PathItem {
  readonly post?: { readonly operationId: string };
  readonly parameters?: readonly { readonly name: string }[];
}

type Ask = (method: string, path: string, body?: unknown, token?: string) => Promise<Answered>;

export async function serve(t: TestContext, limits = { clusters: 10, snapshots: 10 }): Promise<Ask> {
  const failures: unknown[] = [];
  const testenv = openTestenv({ port: 0, token: TOKEN, limits, onFailure: (error) => failures.push(error) });
  await testenv.start();
  t.after(async () => {
    await testenv.stop();
    assert.deepEqual(failures, []);
  });
  return async (method, path, body, token = TOKEN) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await fetch(`${testenv.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(text === undefined ? {} : { body: text }),
    });
    const received = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: received === '' ? undefined : JSON.parse(received),
    };
  };
}

export function clientOf(
  t: TestContext,
  { url, kubeconfig }: { readonly url: string; readonly kubeconfig: string },
): ApiClient {
  const fieldOf = (name: string): string => new RegExp(`${name}: (\\S+)`).exec(kubeconfig)?.[1] ?? '';
  const caPem = Buffer.from(fieldOf('certificate-authority-data'), 'base64').toString();
  const transport = createHttpsTransport({ servers: [url], caPem, clock: createSystemClock() });
  t.after(() => transport.close());
  return createApiClient({ transport, token: fieldOf('token'), userAgent: 'test' });
}

export const configMap = (name: string) => ({
  apiVersion: 'v1' as const,
  kind: 'ConfigMap' as const,
  metadata: { name, namespace: 'default' },
});

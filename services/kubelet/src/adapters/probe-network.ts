import { connect } from 'node:net';
import { nodeHttp, nodeHttps } from '@holdfast/platform/http';
import type { ProbeNetwork } from '../probe-network.ts';
import { grpcHealth } from './grpc-health.ts';

export function createProbeNetwork(): ProbeNetwork {
  return { httpGet, connect: connectTo, grpcHealth };
}

function httpGet({ url, headers, timeoutMs }: Parameters<ProbeNetwork['httpGet']>[0]): Promise<{ status: number }> {
  return new Promise((resolve, reject) => {
    const options = { method: 'GET', headers, agent: false };
    const onResponse = (response: { statusCode?: number | undefined; destroy: () => void }): void => {
      resolve({ status: response.statusCode ?? 0 });
      response.destroy();
    };
    // As everywhere: the certificate of a pod is not checked by its probe.
    const sent = url.startsWith('https:')
      ? nodeHttps().request(url, { ...options, rejectUnauthorized: false }, onResponse)
      : nodeHttp().request(url, options, onResponse);
    sent.setTimeout(timeoutMs, () => sent.destroy(new Error(`no answer within ${timeoutMs} ms`)));
    sent.on('error', reject);
    sent.end();
  });
}

function connectTo(host: string, port: number, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)));
    socket.once('connect', () => {
      resolve();
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

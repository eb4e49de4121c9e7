import { createSameThreadHttpsServer } from '@holdfast/apiserver/same-thread-https';
import type { ApiHandler } from '@holdfast/client';
import { issueCertificate } from '@holdfast/pki/cluster-pki';
import { EMBEDDED_CONTEXT, formatKubeconfig } from '@holdfast/pki/kubeconfig';
import { STANDARD_SERVER_NAMES } from '@holdfast/pki/names';
import type { Log, Service } from '@holdfast/platform';
import { type ClusterKeys, clientAuthorities } from './state.ts';

export interface ClusterPort extends Service {
  readonly url: () => string;
  readonly address: () => { readonly host: string; readonly port: number };
  /** For the user of this token. */
  readonly kubeconfig: (token: string) => string;
}

export interface ClusterPortOptions {
  readonly host: string;
  readonly port: number;
  readonly keys: ClusterKeys;
  readonly nowMs: number;
  readonly log: Log;
  readonly handle: ApiHandler;
}

/** The HTTPS port of a cluster, on loopback. It stays open when the cluster behind it is replaced. */
export async function createClusterPort({
  host,
  port,
  keys,
  nowMs,
  log,
  handle,
}: ClusterPortOptions): Promise<ClusterPort> {
  const { pki } = keys;
  const wanted = { user: 'kube-apiserver', purpose: 'server', names: STANDARD_SERVER_NAMES, nowMs } as const;
  const tls = { ...(keys.server ?? (await issueCertificate(pki, wanted))), clientCa: clientAuthorities(keys) };
  const server = createSameThreadHttpsServer({ handle, log, host, port, tls });
  const url = (): string => `https://${host.includes(':') ? `[${host}]` : host}:${server.address().port}`;
  return {
    name: server.name,
    start: () => server.start(),
    stop: () => server.stop(),
    url,
    address: () => ({ host, port: server.address().port }),
    kubeconfig: (token) => {
      const contexts = [{ name: EMBEDDED_CONTEXT, server: url() }];
      return formatKubeconfig({ contexts, caCertificate: pki.caCertificate, token });
    },
  };
}

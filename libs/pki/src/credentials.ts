import { randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** A bearer token and its identity. */
export interface Credential {
  readonly token: string;
  readonly user: string;
  readonly groups: readonly string[];
}

export const ADMIN_USER = 'admin';
export const SCHEDULER_USER = 'system:kube-scheduler';
export const CONTROLLER_MANAGER_USER = 'system:kube-controller-manager';
/** A separate identity: the only controller that may remove the pods of a lost node. */
export const POD_GC_USER = 'system:serviceaccount:kube-system:pod-garbage-collector';

/** A separate identity: the only controller that may approve and sign certificate requests. */
export const CERTIFICATE_CONTROLLER_USER = 'system:serviceaccount:kube-system:certificate-controller';

/** Reads services and their endpoints for DNS. */
export const CLUSTER_DNS_USER = 'system:serviceaccount:kube-system:kube-dns';

/** Reads services, their endpoints and nodes for the rules of the packet filter. */
export const PROXY_USER = 'system:kube-proxy';

/** The only identity that may end pods of a node that its agents have confirmed to be off. */
export const FENCER_USER = 'system:holdfast:fencer';

/** Reads metrics, and nothing else. */
export const PROMETHEUS_USER = 'holdfast:prometheus';

export const nodeUser = (nodeName: string): string => `system:node:${nodeName}`;

/** Creates credentials for an administrator and every component of a cluster with these nodes, by user name. */
export function createCredentials(nodeNames: readonly string[]): ReadonlyMap<string, Credential> {
  const groupsByUser: readonly (readonly [string, readonly string[]])[] = [
    [ADMIN_USER, ['system:masters', 'system:authenticated']],
    [SCHEDULER_USER, ['system:authenticated']],
    [CONTROLLER_MANAGER_USER, ['system:authenticated']],
    [POD_GC_USER, ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated']],
    [
      CERTIFICATE_CONTROLLER_USER,
      ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated'],
    ],
    [CLUSTER_DNS_USER, ['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated']],
    [PROXY_USER, ['system:authenticated']],
    [FENCER_USER, ['system:authenticated']],
    [PROMETHEUS_USER, ['system:monitoring', 'system:authenticated']],
    ...nodeNames.map((name) => [nodeUser(name), ['system:nodes', 'system:authenticated']] as const),
  ];
  // Together: each call asks the machine for randomness.
  const bytes = randomBytes(groupsByUser.length * TOKEN_BYTES);
  const tokenAt = (i: number): string => textOf(bytes.subarray(i * TOKEN_BYTES, (i + 1) * TOKEN_BYTES));
  return new Map(groupsByUser.map(([user, groups], i) => [user, { token: tokenAt(i), user, groups }]));
}

/** Kubernetes' static token file: `token,user,uid,"group1,group2"`. */
export function formatTokenFile(credentials: Iterable<Credential>): string {
  return Array.from(credentials, (c) => `${c.token},${c.user},${c.user},"${c.groups.join(',')}"\n`).join('');
}

/** Returns `undefined` when a line is invalid: a partial file authenticates nobody. */
export function parseTokenFile(text: string): ReadonlyMap<string, Credential> | undefined {
  const credentials = new Map<string, Credential>();
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, token, user, groups = ''] = /^([^,]+),([^,]+),[^,]*,"([^"]*)"$/.exec(line) ?? [];
    if (token === undefined || user === undefined) return undefined;
    credentials.set(user, { token, user, groups: groups.split(',').filter((group) => group !== '') });
  }
  return credentials;
}

export function newToken(): string {
  return textOf(randomBytes(TOKEN_BYTES));
}

const textOf = (bytes: Buffer): string => bytes.toString('base64url');

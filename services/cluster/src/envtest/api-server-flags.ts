import type { FlagSpec } from './flags.ts';

/** The flags that have an effect. */
export const API_SERVER_FLAGS: readonly FlagSpec[] = [
  { name: 'secure-port', help: 'the port of HTTPS; default 6443' },
  { name: 'bind-address', help: 'an address of loopback; 0.0.0.0 means 127.0.0.1' },
  { name: 'cert-dir', help: 'has apiserver.crt and apiserver.key' },
  { name: 'tls-cert-file', help: 'the certificate of the server, instead of that in --cert-dir' },
  { name: 'tls-private-key-file', help: 'its key' },
  { name: 'client-ca-file', help: 'the authority of client certificates' },
  { name: 'service-account-signing-key-file', help: 'signs the tokens of service accounts' },
  { name: 'service-account-issuer', help: 'the issuer of these tokens' },
  { name: 'service-cluster-ip-range', help: 'IPv4 network of the addresses of services; default 10.96.0.0/12' },
  { name: 'disable-admission-plugins', help: 'only ServiceAccount can be disabled' },
  { name: 'allow-privileged', help: 'always true', isSwitch: true },
];

/** Every envtest gives them, and nobody misses their effect. */
export const NEEDLESS_FLAGS: ReadonlySet<string> = new Set([
  'advertise-address',
  'authorization-mode',
  'etcd-servers',
  'service-account-key-file',
]);

/** What a suite can set besides the flags. */
export interface EnvtestEnvironment {
  /** `HOLDFAST_HOLLOW_NODES`. */
  readonly hollowNodes?: string | undefined;
  /** `HOLDFAST_WITHOUT`: `scheduler,controllers`. */
  readonly without?: string | undefined;
}

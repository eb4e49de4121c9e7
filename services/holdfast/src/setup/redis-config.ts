/**
 * Configuration of a Redis that may hold a cluster: it is durable before it replies, and evicts nothing. API servers
 * are its only clients; they can access only the store's keys and cannot change the server. Health checks may only
 * ping.
 *
 * The default user keeps all permissions behind the operator's password: Redis replays its append-only file as that
 * user and drops commands that the user may not run, which would be all of them.
 */
export function redisConfig(options: {
  readonly port: number;
  readonly directory: string;
  /** Password of the user `apiserver`. */
  readonly password: string;
  /** Password of the user `default`, which may do everything. */
  readonly operatorPassword: string;
  /** Requires TLS. */
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly caFile: string };
}): string {
  const rights = '+@all -@admin -@dangerous -script|flush -script|kill +info +config|get +bgrewriteaof';
  return `${[
    'port 0',
    `tls-port ${options.port}`,
    `tls-cert-file ${options.tls.certFile}`,
    `tls-key-file ${options.tls.keyFile}`,
    `tls-ca-cert-file ${options.tls.caFile}`,
    // Clients authenticate by password.
    'tls-auth-clients no',
    `dir ${options.directory}`,
    // All clients must log in.
    'protected-mode no',
    'appendonly yes',
    'appendfsync always',
    'no-appendfsync-on-rewrite no',
    'aof-load-truncated yes',
    'save ""',
    'maxmemory-policy noeviction',
    'io-threads 1',
    `user default reset on >${options.operatorPassword} ~* &* +@all`,
    'user health reset on nopass +ping',
    `user apiserver reset on >${options.password} ~{k8s}:* ${rights}`,
  ].join('\n')}\n`;
}

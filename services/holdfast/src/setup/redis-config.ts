/**
 * Configuration of a Redis that may hold a cluster: durable before it answers, and it deletes nothing by itself. Apiservers are
 * its only clients; they reach nothing outside the store's keys and cannot change how the server works. Health checks may
 * only ping.
 *
 * The default user keeps every right, behind a password of the operator's: Redis replays its append-only file as that user,
 * and what the user may not do is dropped from the replay, which is everything if its rights are taken away.
 */
export function redisConfig(options: {
  readonly port: number;
  readonly directory: string;
  /** Of the user `apiserver`. */
  readonly password: string;
  /** Of the user `default`, who may do everything. */
  readonly operatorPassword: string;
  /** Nobody is served in the clear. */
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly caFile: string };
}): string {
  const rights = '+@all -@admin -@dangerous -script|flush -script|kill +info +config|get';
  return `${[
    'port 0',
    `tls-port ${options.port}`,
    `tls-cert-file ${options.tls.certFile}`,
    `tls-key-file ${options.tls.keyFile}`,
    `tls-ca-cert-file ${options.tls.caFile}`,
    // Clients say who they are by password.
    'tls-auth-clients no',
    `dir ${options.directory}`,
    // Whoever reaches the port must log in.
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

export interface KubeconfigOptions {
  /** One context with a cluster of the same name per API server. The first one is current. */
  readonly contexts: readonly { readonly name: string; readonly server: string }[];
  readonly caCertificate: string;
  readonly token: string;
}

/** Each form of the cluster has its own name, so that both kubeconfigs can be merged. */
export const EMBEDDED_CONTEXT = 'holdfast';
export const COMPOSE_CONTEXT = 'holdfast-compose';

/** Writes JSON, which is valid YAML, so the start needs no serializer. */
export function formatKubeconfig({ contexts, caCertificate, token }: KubeconfigOptions): string {
  const [current] = contexts;
  const user = `${current?.name ?? EMBEDDED_CONTEXT}-admin`;
  const authority = Buffer.from(caCertificate).toString('base64');
  const clusters = contexts.map(
    ({ name, server }) =>
      `- name: ${name}\n  cluster:\n    server: ${server}\n    certificate-authority-data: ${authority}\n`,
  );
  const places = contexts.map(({ name }) => `- name: ${name}\n  context:\n    cluster: ${name}\n    user: ${user}\n`);
  return `apiVersion: v1
kind: Config
clusters:
${clusters.join('')}users:
- name: ${user}
  user:
    token: ${token}
contexts:
${places.join('')}current-context: ${current?.name ?? ''}
`;
}

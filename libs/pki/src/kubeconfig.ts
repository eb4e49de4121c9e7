export interface KubeconfigOptions {
  /** One context with a cluster of the same name per API server. The first one is current. */
  readonly contexts: readonly { readonly name: string; readonly server: string }[];
  readonly caCertificate: string;
  readonly token: string;
  /** Where the console is served, when that is not at the API servers. */
  readonly console?: string;
}

/** Names the entry of a cluster that says where its console is. Other programs leave such entries as they are. */
export const CONSOLE_EXTENSION = 'holdfast.io/console';

/** Each form of the cluster has its own name, so that both kubeconfigs can be merged. */
export const EMBEDDED_CONTEXT = 'holdfast';
export const COMPOSE_CONTEXT = 'holdfast-compose';

/** Writes JSON, which is valid YAML, so the start needs no serializer. */
export function formatKubeconfig({ contexts, caCertificate, token, console }: KubeconfigOptions): string {
  const [current] = contexts;
  const user = `${current?.name ?? EMBEDDED_CONTEXT}-admin`;
  const authority = Buffer.from(caCertificate).toString('base64');
  const extensions =
    console === undefined
      ? ''
      : `    extensions:\n    - name: ${CONSOLE_EXTENSION}\n      extension:\n        address: ${console}\n`;
  const clusters = contexts.map(
    ({ name, server }) =>
      `- name: ${name}\n  cluster:\n    server: ${server}\n    certificate-authority-data: ${authority}\n${extensions}`,
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

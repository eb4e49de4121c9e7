export interface KubeconfigOptions {
  readonly server: string;
  readonly caCertificate: string;
  readonly token: string;
}

/** A kubeconfig with one context, `holdfast`. Written as JSON-compatible YAML, so no serializer is needed at start. */
export function formatKubeconfig(options: KubeconfigOptions): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: holdfast
  cluster:
    server: ${options.server}
    certificate-authority-data: ${Buffer.from(options.caCertificate).toString('base64')}
users:
- name: holdfast-admin
  user:
    token: ${options.token}
contexts:
- name: holdfast
  context:
    cluster: holdfast
    user: holdfast-admin
current-context: holdfast
`;
}

import { KubeConfig } from '@kubernetes/client-node';

/** The official client's configuration as its users load it, by way of another port if one is named. */
export function loadKubeConfig(kubeconfig: string, port?: number): KubeConfig {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  if (port === undefined) return config;
  const clusters = config.clusters.map((each) => ({ ...each, server: `https://127.0.0.1:${port}` }));
  const { users, contexts, currentContext } = config;
  config.loadFromOptions({ clusters, users, contexts, currentContext });
  return config;
}

import { existsSync } from 'node:fs';
import path from 'node:path';

/** What somebody types first at a new cluster. Where no kubectl is installed our own client shows the pods as well. */
export function nextCommand(kubeconfig: string, searchPath = ''): string {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '');
  const programs = ['kubectl', 'kubectl.exe'];
  const hasKubectl = folders.some((folder) => programs.some((name) => existsSync(path.join(folder, name))));
  return hasKubectl
    ? `kubectl --kubeconfig ${kubeconfig} get pods -A`
    : `npm run -s holdfast -- get pods -A --kubeconfig ${kubeconfig}`;
}

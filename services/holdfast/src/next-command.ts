import { existsSync } from 'node:fs';
import path from 'node:path';

/** The suggested first command for a new cluster. Without kubectl our own client shows the pods. */
export function nextCommand(kubeconfig: string, searchPath = ''): string {
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== '');
  const programs = ['kubectl', 'kubectl.exe'];
  const hasKubectl = folders.some((folder) => programs.some((name) => existsSync(path.join(folder, name))));
  return hasKubectl
    ? `kubectl --kubeconfig ${kubeconfig} get pods -A`
    : `npm run -s holdfast -- get pods -A --kubeconfig ${kubeconfig}`;
}

import { existsSync } from 'node:fs';
import path from 'node:path';
import { OperatorError } from '@holdfast/platform';
import { ClusterHome, type ClusterRecord, clusterHomes } from '../local/cluster-home.ts';
import { misuse } from './misuse.ts';

/** The file that `npm start` writes. */
const OWN_KUBECONFIG = '.holdfast/kubeconfig';

type Environment = Readonly<Record<string, string | undefined>>;

export interface Wish {
  readonly kubeconfig: string | undefined;
  /** A cluster of `up`. */
  readonly name: string | undefined;
}

/**
 * Returns what a flag names, then KUBECONFIG, then the file of `npm start` in this folder, then that of the only cluster
 * of `up`. It never uses the file in the home directory: a command that can do harm must not guess a cluster.
 */
export function kubeconfigFile({ kubeconfig, name }: Wish, env: Environment, here = ''): string {
  if (kubeconfig !== undefined && name !== undefined)
    throw misuse('--kubeconfig and --name both name a cluster', 'Leave one of them out.');
  if (kubeconfig !== undefined) return kubeconfig;
  if (name !== undefined) return ofCluster(new ClusterHome(name, env));
  const listed = env['KUBECONFIG'] ?? '';
  if (listed.includes(path.delimiter))
    throw unchosen('KUBECONFIG names several files', 'Name one file with --kubeconfig.');
  if (listed !== '') return listed;
  const own = path.join(here, OWN_KUBECONFIG);
  if (existsSync(own)) return own;
  const [only, ...others] = clusterHomes(env);
  if (only === undefined)
    throw unchosen(
      'there is no cluster here',
      'Start one with `holdfast up -d`, or name a kubeconfig with --kubeconfig or KUBECONFIG.',
    );
  if (others.length === 0) return ofCluster(only);
  const names = [only, ...others].map((home) => home.name).join(', ');
  throw unchosen(`there are several clusters of \`up\`: ${names}`, `Name one of them, as in --name ${only.name}.`);
}

function ofCluster(home: ClusterHome): string {
  if (existsSync(home.kubeconfig)) return home.kubeconfig;
  knownCluster(home);
  throw unchosen(
    `the cluster "${home.name}" has no kubeconfig yet: its start is not done`,
    `\`holdfast status --name ${home.name}\` says how it is; \`holdfast up -d --name ${home.name}\` starts it.`,
  );
}

/** Throws for a name that no cluster of `up` has. */
export function knownCluster(home: ClusterHome): ClusterRecord {
  const record = home.read();
  if (record !== undefined) return record;
  throw unchosen(
    `there is no cluster "${home.name}"`,
    `\`holdfast list\` shows all; \`holdfast up -d --name ${home.name}\` starts it.`,
  );
}

const unchosen = (message: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'Kubeconfig', message, nextStep, exitCode: 2 });

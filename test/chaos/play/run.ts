import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Scenario } from '../../scenario/model.ts';
import { waitFor } from '../../support/wait.ts';
import { Database } from '../database/database.ts';
import { docker } from '../losses/faults.ts';
import { PlantedSources } from '../planted/sources.ts';
import { type ComposeCluster, onEarlyEnd, startComposeCluster } from '../support/compose-cluster.ts';
import type { FormName } from '../support/compose-form.ts';
import { describePods } from '../support/workloads.ts';
import { clearWorkloads } from './clear.ts';
import { clocksFile, setClocksRight } from './clocks.ts';
import { Play, type Verdict } from './play.ts';
import { StoreLog } from './store-log.ts';
import { isWhole, nodesAreWell } from './whole.ts';
import { createScenarioWorkloads } from './workloads.ts';

const START_DEADLINE_MS = 240_000;
const NODE_MONITOR_GRACE_SECONDS = '20';

export interface SessionOptions {
  readonly form: FormName;
  readonly project: string;
  readonly say: (line: string) => void;
  /** All bugs that will be planted into these containers. */
  readonly bugs: readonly string[];
  readonly selfFencing: boolean;
  /** Each process of the control plane gets a wall clock of its own. */
  readonly ownClocks: boolean;
}

/** Containers on which scenarios are played one after the other. */
export class Session implements AsyncDisposable {
  readonly #cluster: ComposeCluster;
  readonly #log: StoreLog;
  readonly #sources: PlantedSources;
  readonly #removeScratch: () => Promise<void>;
  readonly #say: (line: string) => void;

  private constructor(
    cluster: ComposeCluster,
    sources: PlantedSources,
    removeScratch: () => Promise<void>,
    say: (line: string) => void,
  ) {
    this.#cluster = cluster;
    this.#log = new StoreLog(cluster);
    this.#sources = sources;
    this.#removeScratch = removeScratch;
    this.#say = say;
  }

  static async start({ project, form, say, bugs, selfFencing, ownClocks }: SessionOptions): Promise<Session> {
    const settings = {
      HOLDFAST_SELF_FENCING: selfFencing ? 'exclusive' : 'off',
      HOLDFAST_NODE_MONITOR_GRACE_SECONDS: NODE_MONITOR_GRACE_SECONDS,
    };
    say(`the containers of form ${form} start`);
    const scratch = await mkdtemp(path.join(tmpdir(), 'holdfast-planted-'));
    const remove = () => rm(scratch, { recursive: true, force: true });
    const forget = onEarlyEnd(remove);
    const removeScratch = async (): Promise<void> => {
      forget();
      await remove();
    };
    try {
      const sources = new PlantedSources(bugs, scratch, form);
      const cluster = await startComposeCluster(project, settings, {
        form,
        profiles: ['storage'],
        files: [sources.composeFile, ...(ownClocks ? [clocksFile(form, scratch)] : [])],
        clocksFolder: ownClocks ? scratch : undefined,
      });
      return new Session(cluster, sources, removeScratch, say);
    } catch (error) {
      await removeScratch();
      throw error;
    }
  }

  /** Plays a scenario on running containers, and judges what their processes and clients have seen. */
  async play(scenario: Scenario, planted: readonly string[]): Promise<Verdict> {
    const { admin } = this.#cluster;
    try {
      await this.#plant(planted, scenario);
      await createScenarioWorkloads(this.#cluster, scenario);
      await using database = scenario.workload.database === 0 ? undefined : await Database.start(this.#cluster);
      await waitFor('everything to run', () => isWhole(admin, scenario), START_DEADLINE_MS);
      return await new Play(this.#cluster, scenario, { log: this.#log, database, say: this.#say }).run();
    } catch (error) {
      process.stderr.write(`${await this.#cluster.logs()}\n${await describePods(admin).catch(String)}\n`);
      throw error;
    }
  }

  /** Makes room for the next scenario. */
  async clear(scenario: Scenario): Promise<void> {
    await this.#plant([], scenario);
    setClocksRight(this.#cluster);
    await clearWorkloads(this.#cluster);
  }

  /** The containers that run a source that changes start again. */
  async #plant(bugs: readonly string[], { form }: Scenario): Promise<void> {
    const containers = this.#sources.plant(bugs);
    if (containers.length === 0) return;
    await docker('restart', '--time', '1', ...containers.map((name) => this.#cluster.containerOf(name)));
    await waitFor('the nodes to be ready', () => nodesAreWell(this.#cluster.admin, form), START_DEADLINE_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#log[Symbol.asyncDispose]();
    await this.#cluster[Symbol.asyncDispose]();
    await this.#removeScratch();
  }
}

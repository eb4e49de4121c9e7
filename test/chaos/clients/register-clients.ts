import { CONFIG_MAPS, type ConfigMap } from '@holdfast/api';
import type { RegisterInput, RegisterOperation, RegisterOutput } from '../checkers/registers.ts';
import type { Asking, Scenery, Told } from './asking.ts';

const NAMESPACE = 'default';
const PAUSE_MS = 150;
const ROUND_MS = 3_000;
const CHANCE_OF_A_READ = 0.35;
const CHANCE_OF_A_REMOVAL = 0.1;
/** A writer that has been asleep: it names a state of long ago, and must be refused. */
const CHANCE_OF_AN_OLD_STATE = 0.1;

/** What a client has read: the value, and the version by which the next write names it. */
interface Seen {
  readonly value: string;
  readonly object: ConfigMap;
}

/** Clients that read, create, swap and remove a few objects against each other, through all API servers. */
export class RegisterClients {
  /** By name. */
  readonly histories = new Map<string, RegisterOperation[]>();
  readonly #scenery: Scenery;
  readonly #asking: Asking;
  readonly #isRare: boolean;
  readonly #old = new Map<string, Seen>();
  #values = 0;

  /** `isRare`: the clients ask once in each round, all of them within a moment, and so still meet. */
  constructor(scenery: Scenery, asking: Asking, { registers, isRare }: { registers: number; isRare: boolean }) {
    this.#scenery = scenery;
    this.#asking = asking;
    this.#isRare = isRare;
    for (let i = 0; i < registers; i++) this.histories.set(`${isRare ? 'rare-' : ''}register-${i}`, []);
  }

  /** One client; it goes on until the signal. */
  async run(client: number, signal: AbortSignal): Promise<void> {
    const { random } = this.#scenery;
    const names = [...this.histories.keys()];
    while (!signal.aborted) {
      const name = names[random.int(names.length)] ?? '';
      const seen = await this.#read(client, name);
      if (seen !== 'unknown' && random.float() >= CHANCE_OF_A_READ) await this.#write(client, name, seen);
      await this.#scenery.sleep(this.#untilRoundMs() + random.float() * PAUSE_MS);
    }
  }

  #untilRoundMs(): number {
    return this.#isRare ? ROUND_MS - (this.#scenery.now() % ROUND_MS) : 0;
  }

  async #read(client: number, name: string): Promise<Seen | undefined | 'unknown'> {
    const target = { namespace: NAMESPACE, name };
    const beganMs = this.#scenery.now();
    const told = await this.#asking.ask(`get ${name}`, client, (user) => user.find(CONFIG_MAPS, target));
    if (told.outcome !== 'acknowledged') return 'unknown';
    const object = told.value;
    const value = object?.data?.['value'];
    this.#note(name, client, { beganMs, input: { kind: 'read' }, output: { kind: 'value', value } });
    return object === undefined || value === undefined ? undefined : { value, object };
  }

  async #write(client: number, name: string, seen: Seen | undefined): Promise<void> {
    const { random } = this.#scenery;
    const old = this.#old.get(name);
    const known = old !== undefined && random.float() < CHANCE_OF_AN_OLD_STATE ? old : seen;
    if (seen !== undefined && random.float() < CHANCE_OF_AN_OLD_STATE) this.#old.set(name, seen);
    const to = `v${this.#values++}`;
    const target = { namespace: NAMESPACE, name };
    const data = { value: to };
    if (known === undefined) {
      const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: target, data };
      await this.#change(client, name, { kind: 'create', to }, (user) => user.create(CONFIG_MAPS, object));
    } else if (random.float() < CHANCE_OF_A_REMOVAL) {
      const { resourceVersion = '' } = known.object.metadata;
      await this.#change(client, name, { kind: 'remove', from: known.value }, (user) =>
        user.delete(CONFIG_MAPS, target, { resourceVersion }),
      );
    } else {
      await this.#change(client, name, { kind: 'swap', from: known.value, to }, (user) =>
        user.update(CONFIG_MAPS, { ...known.object, data }),
      );
    }
  }

  async #change(client: number, name: string, input: RegisterInput, send: Parameters<Asking['ask']>[2]): Promise<void> {
    const beganMs = this.#scenery.now();
    const told = await this.#asking.ask(`${input.kind} ${name}`, client, send);
    if (told.outcome === 'unsent') return;
    const output = outputOf(told);
    this.#note(name, client, { beganMs, input, ...(output === undefined ? {} : { output }) });
  }

  #note(name: string, client: number, of: Pick<RegisterOperation, 'beganMs' | 'input' | 'output'>): void {
    this.histories.get(name)?.push({ ...of, process: `client-${client}`, endedMs: this.#scenery.now() });
  }
}

function outputOf({ outcome }: Told<unknown>): RegisterOutput | undefined {
  if (outcome === 'acknowledged') return { kind: 'done' };
  return outcome === 'refused' ? { kind: 'refused' } : undefined;
}

import { readFileSync } from 'node:fs';
import { type Form, type Started, startForm } from './forms.ts';
import { INSPECTED, Inspector, inspectorIn } from './inspector.ts';
import type { Target } from './tls-connection.ts';

/** A server with an inspector of its main thread. */
export class InspectedServer implements AsyncDisposable {
  readonly target: Target;
  readonly inspector: Inspector;
  readonly #started: Started;

  private constructor(started: Started, inspector: Inspector) {
    const text = readFileSync(started.kubeconfig, 'utf8');
    const url = new URL(/server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '');
    this.target = { host: url.hostname, port: Number(url.port), token: /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '' };
    this.inspector = inspector;
    this.#started = started;
  }

  static async start(form: Form, directory: string, extra: readonly string[]): Promise<InspectedServer> {
    let address = '';
    const onLine = (line: string): void => {
      address = inspectorIn(line) ?? address;
    };
    const started = await startForm(form, extra, { directory, nodeFlags: INSPECTED, onLine });
    return new InspectedServer(started, await Inspector.open(address));
  }

  get pid(): number {
    return this.#started.pid;
  }

  get startMs(): number {
    return this.#started.startMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.inspector.close();
    await this.#started.stop();
  }
}

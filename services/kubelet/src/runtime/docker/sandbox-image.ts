import { createHash } from 'node:crypto';
import { RuntimeError } from '../port.ts';
import type { Engine } from './engine.ts';
import { pullImage } from './images.ts';
import { WORK_DEADLINE_MS } from './limits.ts';
import { sleeper } from './sleeper.ts';
import { tar } from './tar.ts';

/** No registry has this host. The number changes with the content. */
export const OWN_SANDBOX_IMAGE = 'localhost/holdfast-pause:1';
/** For architectures that the image of our own does not know. */
const UPSTREAM_IMAGE = 'registry.k8s.io/pause:3.10';

/** The image of all sandboxes: the one that the operator names, else one that is made on the spot, without any registry. */
export class SandboxImage {
  readonly name: string;
  readonly #engine: Engine;
  #providing: Promise<void> | undefined;

  constructor(engine: Engine, named: string | undefined) {
    this.#engine = engine;
    this.name = named ?? OWN_SANDBOX_IMAGE;
  }

  /** Pods that start together need it once. */
  provide(): Promise<void> {
    this.#providing ??= this.#provide().finally(() => {
      this.#providing = undefined;
    });
    return this.#providing;
  }

  async #provide(): Promise<void> {
    if (this.name !== OWN_SANDBOX_IMAGE) {
      await pullImage(this.#engine, this.name, {});
      return;
    }
    const { Arch: architecture = 'amd64' } = await this.#engine.version();
    const program = sleeper(architecture);
    if (program === undefined) {
      const message = `there is no sandbox image for ${architecture}: name one with --pod-infra-container-image, for example ${UPSTREAM_IMAGE}`;
      throw new RuntimeError('Unsupported', message);
    }
    const archive = imageArchive(program, architecture);
    await this.#engine.json({
      method: 'POST',
      path: '/images/load',
      query: { quiet: 'true' },
      archive,
      deadlineMs: WORK_DEADLINE_MS,
    });
  }
}

/** The same bytes for the same program, so that several nodes make one image. */
function imageArchive(program: Buffer, architecture: string): Buffer {
  const layer = tar([{ path: 'pause', content: program, mode: 0o755 }]);
  const config = Buffer.from(
    JSON.stringify({
      architecture,
      os: 'linux',
      // It is the first process of its namespace, where the kernel drops every signal without a handler.
      config: { Entrypoint: ['/pause'], StopSignal: 'SIGKILL', User: '65535:65535' },
      rootfs: { type: 'layers', diff_ids: [`sha256:${hash(layer)}`] },
    }),
  );
  const configFile = `${hash(config)}.json`;
  const manifest = [{ Config: configFile, RepoTags: [OWN_SANDBOX_IMAGE], Layers: ['layer.tar'] }];
  return tar([
    { path: 'layer.tar', content: layer, mode: 0o644 },
    { path: configFile, content: config, mode: 0o644 },
    { path: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)), mode: 0o644 },
  ]);
}

const hash = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

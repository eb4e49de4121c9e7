import type { Container, Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type Clock, describeError } from '@holdfast/platform';
import { type BackOff, nextBackOff } from '../domain/back-off.ts';
import { type ImageName, parseImageName } from '../domain/image-name.ts';
import { pullDuration, pullProgressText } from '../domain/pull-progress.ts';
import { credentialsFor } from '../domain/registry-credentials.ts';
import { IMAGE_ERROR_SHOWN_MS, START_RETRY_MS } from '../limits.ts';
import type { ImageStatus, PullProgress, RegistryCredentials, RuntimeImages } from '../runtime/port-images.ts';
import { readTexts } from '../volumes/referenced-data.ts';
import type { TellPod } from './pod-events.ts';
import { PullProgressEvents } from './pull-progress-events.ts';

export interface PodImagesDeps {
  readonly images: RuntimeImages;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly tell: TellPod;
  /** A pull of this container ended: with the reason why it failed, or well. */
  readonly onPulled: (pod: Pod, container: Container, failure: ImageWait | undefined) => void;
}

/** The container cannot be made now; `reason` is what its status shows. */
export class ImageWait extends Error {
  override readonly name = 'ImageWait';
  /** `undefined`: nothing is wrong, it only takes time. */
  readonly reason: string | undefined;
  readonly retryMs: number;

  constructor(reason: string | undefined, message: string, retryMs = START_RETRY_MS) {
    super(message);
    this.reason = reason;
    this.retryMs = retryMs;
  }
}

type Pull =
  | { readonly kind: 'running' }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly message: string; readonly retryAt: number };

/** Sees to it that the images of one pod are there. Pulls run in the background: a deletion must not wait for them. */
export class PodImages {
  readonly #deps: PodImagesDeps;
  /** By container and image. */
  readonly #pulls = new Map<string, Pull>();
  readonly #backOffs = new Map<string, BackOff>();
  readonly #stopping = new AbortController();

  constructor(deps: PodImagesDeps) {
    this.#deps = deps;
  }

  stop(): void {
    this.#stopping.abort(new Error('the start of the pod was cancelled'));
  }

  /** Rejects with `ImageWait` while the image is not there. */
  async ensure(pod: Pod, container: Container): Promise<ImageStatus> {
    const name = this.#parse(pod, container);
    const present = await this.#deps.images.status(name.full);
    const policy = container.imagePullPolicy ?? 'IfNotPresent';
    if (present !== undefined && policy !== 'Always') {
      this.#tell(pod, container, 'Normal', 'Pulled', `Container image ${quoted(container)} already present on machine`);
      return present;
    }
    if (policy === 'Never') {
      const message = `Container image ${quoted(container)} is not present with pull policy of Never`;
      this.#tell(pod, container, 'Warning', 'ErrImageNeverPull', message);
      throw new ImageWait('ErrImageNeverPull', message);
    }
    return this.#pulled(pod, container, name, present);
  }

  #parse(pod: Pod, container: Container): ImageName {
    const name = parseImageName(container.image ?? '');
    if (name !== undefined) return name;
    const image = quoted(container);
    const message = `Failed to apply default image tag ${image}: couldn't parse image name ${image}: invalid reference format`;
    this.#tell(pod, container, 'Warning', 'InspectFailed', message);
    throw new ImageWait('InvalidImageName', message);
  }

  /** One pull per start: the next start of a container with pull policy Always pulls again. */
  async #pulled(
    pod: Pod,
    container: Container,
    name: ImageName,
    present: ImageStatus | undefined,
  ): Promise<ImageStatus> {
    const key = `${container.name} ${name.full}`;
    const pull = this.#pulls.get(key);
    if (pull?.kind === 'running') throw new ImageWait(undefined, '');
    if (pull?.kind === 'done') {
      this.#pulls.delete(key);
      if (present !== undefined) return present;
    }
    if (pull?.kind === 'failed') this.#backOff(pod, container, pull);
    this.#pulls.set(key, { kind: 'running' });
    this.#tell(pod, container, 'Normal', 'Pulling', `Pulling image ${quoted(container)}`);
    void this.#pull(pod, container, { name, key });
    throw new ImageWait(undefined, '');
  }

  #backOff(pod: Pod, container: Container, { message, retryAt }: Extract<Pull, { kind: 'failed' }>): void {
    const leftMs = retryAt - this.#deps.clock.now();
    if (leftMs <= 0) return;
    const text = `Back-off pulling image ${quoted(container)}`;
    this.#tell(pod, container, 'Normal', 'BackOff', text);
    this.#tell(pod, container, 'Warning', 'Failed', 'Error: ImagePullBackOff');
    throw new ImageWait('ImagePullBackOff', `${text}: ErrImagePull: ${message}`, leftMs);
  }

  async #pull(pod: Pod, container: Container, of: { readonly name: ImageName; readonly key: string }): Promise<void> {
    const { clock, images, onPulled } = this.#deps;
    const { name, key } = of;
    const startedAt = clock.monotonic();
    const progress = new PullProgressEvents(clock, (elapsedMs, said) =>
      this.#tell(pod, container, 'Normal', 'PullProgress', pullProgressText(quoted(container), elapsedMs, said)),
    );
    try {
      await this.#tryLogins(name, await this.#credentials(pod, name), (said) => progress.take(said));
      const { sizeBytes = 0 } = (await images.status(name.full)) ?? {};
      const took = pullDuration(clock.monotonic() - startedAt);
      const message = `Successfully pulled image ${quoted(container)} in ${took} (${took} including waiting). Image size: ${sizeBytes} bytes.`;
      this.#tell(pod, container, 'Normal', 'Pulled', message);
      this.#pulls.set(key, { kind: 'done' });
      this.#backOffs.delete(key);
      onPulled(pod, container, undefined);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      onPulled(pod, container, this.#failed(pod, container, { key, message: describeError(error) }));
    } finally {
      progress.stop();
    }
  }

  #failed(pod: Pod, container: Container, of: { readonly key: string; readonly message: string }): ImageWait {
    const { key, message } = of;
    const now = this.#deps.clock.now();
    const backOff = nextBackOff(this.#backOffs.get(key), now, now);
    this.#backOffs.set(key, backOff);
    this.#pulls.set(key, { kind: 'failed', message, retryAt: now + backOff.delayMs });
    this.#tell(pod, container, 'Warning', 'Failed', `Failed to pull image ${quoted(container)}: ${message}`);
    this.#tell(pod, container, 'Warning', 'Failed', 'Error: ErrImagePull');
    return new ImageWait('ErrImagePull', message, IMAGE_ERROR_SHOWN_MS);
  }

  /** Tries credentials until one succeeds; without any it pulls anonymously. */
  async #tryLogins(
    name: ImageName,
    logins: readonly RegistryCredentials[],
    onProgress: (progress: PullProgress) => void,
  ): Promise<void> {
    const { images } = this.#deps;
    const { signal } = this.#stopping;
    const watch = { signal, onProgress };
    for (const login of logins.slice(0, -1)) {
      try {
        await images.pull(name.full, login, watch);
        return;
      } catch {
        if (signal.aborted) break;
      }
    }
    await images.pull(name.full, logins.at(-1), watch);
  }

  async #credentials(pod: Pod, name: ImageName): Promise<readonly RegistryCredentials[]> {
    const { client, tell } = this.#deps;
    const names = (pod.spec.imagePullSecrets ?? []).map((reference) => reference.name ?? '');
    const secrets: Readonly<Record<string, string>>[] = [];
    const missing: string[] = [];
    for (const secret of names) {
      const found = await readTexts(client, pod.metadata.namespace ?? '', `Secret/${secret}`);
      if (found === undefined) missing.push(secret);
      else secrets.push(found);
    }
    if (missing.length > 0) {
      const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
      tell(pod, { type: 'Warning', reason: 'FailedToRetrieveImagePullSecret', message });
    }
    return credentialsFor(name, secrets);
  }

  #tell(pod: Pod, { name }: Container, type: 'Normal' | 'Warning', ...[reason, message]: [string, string]): void {
    this.#deps.tell(pod, { type, reason, message, container: name });
  }
}

const quoted = ({ image = '' }: Container): string => JSON.stringify(image);

import { existsSync } from 'node:fs';
import { isCode } from '../engine-errors.ts';
import { RuntimeError } from '../port.ts';
import type { ImageStatus, PullWatch, RegistryCredentials, RuntimeImages } from '../port-images.ts';
import { type Engine, part } from './engine.ts';
import type { EngineInfo, InspectedImage, ListedContainer, ListedImage, PullLine } from './engine-types.ts';
import { fullImageName, pullName } from './image-names.ts';
import { JsonLines } from './json-lines.ts';
import { PULL_STALL_MS, WORK_DEADLINE_MS } from './limits.ts';
import { PullLayers } from './pull-layers.ts';

export function createImages(engine: Engine, sandboxImage: string): RuntimeImages {
  const status = (image: string): Promise<ImageStatus | undefined> => inspectImage(engine, image);
  return {
    status,
    pull: async (image, credentials, watch) => {
      await pullImage(engine, image, { ...(credentials === undefined ? {} : { credentials }), ...watch });
      return (await status(image))?.id ?? image;
    },
    list: async () => {
      const images = await engine.json<readonly ListedImage[]>({ method: 'GET', path: '/images/json' });
      return images.map(imageStatus);
    },
    remove: (id) => removeImage(engine, id),
    used: async () => {
      const query = { all: 'true' };
      const all = await engine.json<readonly ListedContainer[]>({ method: 'GET', path: '/containers/json', query });
      return new Set([sandboxImage, ...all.flatMap(({ Image, ImageID }) => [Image, ImageID])]);
    },
    directory: async () => {
      const { DockerRootDir: directory = '' } = await engine.json<EngineInfo>({ method: 'GET', path: '/info' });
      // An engine in a virtual machine has its disk there.
      return existsSync(directory) ? directory : undefined;
    },
  };
}

const imagePath = (image: string): string => `/images/${image.split('/').map(part).join('/')}`;

async function inspectImage(engine: Engine, image: string): Promise<ImageStatus | undefined> {
  try {
    const path = `${imagePath(image)}/json`;
    const found = await engine.json<InspectedImage>({ method: 'GET', path });
    return { ...imageStatus(found), ...userOf(found) };
  } catch (error) {
    if (isCode(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** The user of an image: a number or a name, each with or without a group. */
function userOf({ Config }: InspectedImage): Pick<ImageStatus, 'user' | 'userName'> {
  const [user = ''] = (Config?.User ?? '').split(':');
  if (user === '') return {};
  return /^\d+$/.test(user) ? { user: Number(user) } : { userName: user };
}

function imageStatus({ Id: id, RepoTags, RepoDigests, Size: sizeBytes }: ListedImage): ImageStatus {
  const names = [...(RepoDigests ?? []), ...(RepoTags ?? [])].filter((name) => !name.includes('<none>'));
  return { id, names: names.map(fullImageName), sizeBytes };
}

/** Name by name: the engine removes the image with its last one, and refuses while a container uses it. */
async function removeImage(engine: Engine, id: string): Promise<void> {
  const remove = async (name: string): Promise<void> => {
    try {
      await engine.json({ method: 'DELETE', path: imagePath(name), deadlineMs: WORK_DEADLINE_MS });
    } catch (error) {
      if (!isCode(error, 'NotFound')) throw error;
    }
  };
  const names = (await inspectImage(engine, id))?.names ?? [];
  const tags = names.filter((name) => !name.includes('@'));
  for (const name of tags) await remove(name);
  if ((await inspectImage(engine, id)) !== undefined) await remove(id);
}

export interface PullOptions extends Partial<PullWatch> {
  readonly credentials?: RegistryCredentials;
}

/** Rejects with the sentence of the engine or of the registry. */
export async function pullImage(
  engine: Engine,
  image: string,
  { credentials, signal, onProgress }: PullOptions,
): Promise<void> {
  const answer = await engine.open({
    method: 'POST',
    path: '/images/create',
    query: pullName(image),
    deadlineMs: PULL_STALL_MS,
    ...(credentials === undefined ? {} : { headers: { 'x-registry-auth': authOf(credentials) } }),
    ...(signal === undefined ? {} : { signal }),
  });
  const lines = new JsonLines<PullLine>();
  const layers = new PullLayers();
  for await (const chunk of engine.untilStalled(answer, PULL_STALL_MS)) {
    const said = lines.push(chunk);
    for (const line of said) layers.take(line);
    onProgress?.(layers.progress);
    const failed = said.find(({ error }) => error !== undefined);
    if (failed !== undefined) throw new RuntimeError('Internal', failed.errorDetail?.message ?? failed.error ?? '');
  }
}

function authOf({ server, username, password, identityToken }: RegistryCredentials): string {
  const auth = { username, password, serveraddress: server, identitytoken: identityToken };
  return Buffer.from(JSON.stringify(auth)).toString('base64url');
}

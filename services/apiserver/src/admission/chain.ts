import type { AdmissionDeps, AdmissionPlugin, AdmissionRequest } from './port.ts';
import { ADMISSION_PLUGINS } from './registry.ts';

export interface AdmissionChain {
  readonly admit: (request: AdmissionRequest) => Promise<void>;
  readonly validate: (request: AdmissionRequest) => Promise<void>;
}

export function createAdmissionChain(deps: AdmissionDeps): AdmissionChain {
  const plugins = ADMISSION_PLUGINS.map((create) => create(deps));
  return {
    admit: (request) => run(plugins, 'admit', request),
    validate: (request) => run(plugins, 'validate', request),
  };
}

async function run(
  plugins: readonly AdmissionPlugin[],
  phase: 'admit' | 'validate',
  request: AdmissionRequest,
): Promise<void> {
  for (const plugin of plugins) {
    if (plugin[phase] === undefined || !plugin.handles(request)) continue;
    const work = plugin[phase](request);
    if (work !== undefined) await work;
  }
}

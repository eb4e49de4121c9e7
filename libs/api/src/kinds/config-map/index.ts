import { ageColumn, nameColumn, textColumn } from '../../columns/columns.ts';
import { setEmptyBytes } from '../../defaults/set.ts';
import { CONFIG_MAPS } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { nothingToPrepare } from '../strategy.ts';
import { validateConfigMapCreate, validateConfigMapUpdate } from './validation.ts';

export const configMapResource = defineResource(CONFIG_MAPS, {
  setDefaults: ({ binaryData }) => setEmptyBytes(binaryData),
  strategy: {
    prepareForCreate: nothingToPrepare,
    prepareForUpdate: nothingToPrepare,
    validateCreate: validateConfigMapCreate,
    validateUpdate: validateConfigMapUpdate,
    allowUnconditionalUpdate: true,
  },
  columns: [
    nameColumn,
    textColumn(
      'Data',
      'How many entries the object holds',
      (map) => Object.keys(map.data ?? {}).length + Object.keys(map.binaryData ?? {}).length,
    ),
    ageColumn,
  ],
});

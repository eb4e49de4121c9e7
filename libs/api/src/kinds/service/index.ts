import { SERVICES } from '../../refs.ts';
import { defineResource } from '../define.ts';
import { keepStatus, statusOnly } from '../strategy.ts';
import { serviceColumns } from './columns.ts';
import { setServiceDefaults } from './defaults.ts';
import { prepareServiceCreate, prepareServiceUpdate } from './prepare.ts';
import { validateServiceCreate, validateServiceStatusUpdate, validateServiceUpdate } from './validation.ts';
import { serviceWarnings } from './warnings.ts';

export const serviceResource = defineResource(SERVICES, {
  setDefaults: setServiceDefaults,
  strategy: {
    prepareForCreate: prepareServiceCreate,
    prepareForUpdate: (service, old) => {
      keepStatus(service, old);
      prepareServiceUpdate(service, old);
    },
    validateCreate: validateServiceCreate,
    validateUpdate: validateServiceUpdate,
    warnings: serviceWarnings,
    allowCreateOnUpdate: true,
    allowUnconditionalUpdate: true,
  },
  status: statusOnly(validateServiceStatusUpdate),
  columns: serviceColumns,
  selectableFields: {
    'spec.clusterIP': (service) => service.spec.clusterIP ?? '',
    'spec.type': (service) => service.spec.type ?? '',
  },
});

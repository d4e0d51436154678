/* machine.h - what computes here, for people. */
#ifndef MOUSSE_BASE_MACHINE_H
#define MOUSSE_BASE_MACHINE_H

enum { MO_PROCESSOR_NAME = 128 };

/* "Intel(R) Xeon(R) Processor", or the architecture where Linux does not say more. */
void mo_processor_name(char name[MO_PROCESSOR_NAME]);

#endif

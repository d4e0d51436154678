/* pytorch_file.h - pytorch/mousse_model.py, embedded when the program is built. */
#ifndef MOUSSE_FORMATS_PYTORCH_FILE_H
#define MOUSSE_FORMATS_PYTORCH_FILE_H

#include <stddef.h>

extern const unsigned char mousse_model_py[];
extern const size_t mousse_model_py_size;

#endif
